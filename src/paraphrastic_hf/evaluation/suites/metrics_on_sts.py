"""Translation metrics as similarity measures on STS 2012-2016 (thesis, Table 65).

The metrics distinguish reference and hypothesis. As in the thesis, the first sentence of a pair is
the reference. `symmetric` is the mean of both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import read_sts_year
from paraphrastic_hf.evaluation.measures.similarity import pearson
from paraphrastic_hf.evaluation.suite import Row, Suite, Task, mean_of
from paraphrastic_hf.evaluation.suites.sts import YEARS
from paraphrastic_hf.evaluation.suites.translation import (
    METRICS,
    Measure,
    matching_measure,
    semantic_measure,
)
from paraphrastic_hf.metrics.matching import MATCHING

SYMMETRIC = " symmetric"
MEANS = "means of the years"  # group of the rows that the headline averages


def sts_correlations(measure: Measure, data_dir: Path) -> list[Row]:
    """Return each metric's Pearson r x 100 with human scores: per dataset, then means per year."""
    rows: list[Row] = []
    for year in YEARS:
        of_year = []
        for pairs in read_sts_year(data_dir, year):
            scores = measure(list(pairs.second), list(pairs.first))
            values = {name: pearson(each, pairs.scores) for name, each in scores.items()}
            of_year.append(Row(year, pairs.name, len(pairs), values))
        means = {name: mean_of(of_year, name) for name in of_year[0].scores}
        rows += [*of_year, Row(MEANS, year, sum(row.size for row in of_year), means)]
    return rows


def _semantic(encoder: Any, data_dir: Path) -> list[Row]:
    return sts_correlations(semantic_measure(encoder), data_dir)


def _matching(name: str) -> Task:
    def task(encoder: Any, data_dir: Path) -> list[Row]:
        one_way = matching_measure(name)

        def measure(outputs: list[str], references: list[str]) -> dict[str, np.ndarray]:
            there = one_way(outputs, references)[name]
            back = one_way(references, outputs)[name]
            return {name: there, name + SYMMETRIC: (there + back) / 2}

        return sts_correlations(measure, data_dir)

    return task


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    names = [*METRICS, *(name + SYMMETRIC for name in MATCHING)]
    found = [row for row in rows if row.group == MEANS]
    return {name: mean_of(found, name) for name in names if any(name in r.scores for r in found)}


STS_METRICS = Suite(
    "SIM, SimiLE, BLEU, chrF and METEOR as systems on STS 2012-2016 (7.2.1, Table 65)",
    "Pearson's r x 100, averaged over a year's datasets, then over the years",
    {"SimiLE": _semantic, **{name: _matching(name) for name in MATCHING}},
    _headline,
    {
        "thesis, Table 65": {
            "SIM": fmean([69.2, 60.7, 77.0, 80.1, 78.4]),
            "SimiLE": fmean([70.1, 59.8, 74.7, 79.4, 77.8]),
            "BLEU": fmean([58.4, 37.8, 55.1, 67.4, 61.0]),
            "BLEU symmetric": fmean([58.2, 39.1, 56.2, 67.8, 61.2]),
            "METEOR": fmean([53.4, 47.6, 63.7, 68.8, 61.8]),
            "METEOR symmetric": fmean([53.8, 48.2, 65.1, 70.0, 62.7]),
        }
    },
    notes=("BLEU and chrF: sacrebleu, per sentence. METEOR: nltk.",),
)
