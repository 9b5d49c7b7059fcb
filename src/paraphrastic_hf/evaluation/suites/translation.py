"""SIM, SimiLE and word-matching metrics, on translations and on STS (thesis, Tables 65 and 66).

On translations a metric's score is Spearman's rho with human direct assessments of segments,
averaged over language pairs. On STS 2012-2016 it is Pearson's r with human scores. The first
sentence of a pair is the reference, as in the thesis. `symmetric` is the mean of both directions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.corpora.readers.sts_files import read_sts_year
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.evaluation.measures.similarity import pearson, spearman
from paraphrastic_hf.evaluation.suite import Row, Suite, Task, mean_of
from paraphrastic_hf.evaluation.suites import sts
from paraphrastic_hf.metrics.matching import MATCHING, load_matching
from paraphrastic_hf.metrics.scorer import SimileScorer

SUFFIXES = {
    "sentences": "",
    "windows": " by windows",
    "strict-windows": " by strict windows",
}
METRICS = (*(name + each for each in SUFFIXES.values() for name in ("SIM", "SimiLE")), *MATCHING)

Measure = Callable[[list[str], list[str]], dict[str, np.ndarray]]


def semantic_measure(encoder: Any) -> Measure:
    """Return a function that computes SIM and SimiLE on sentences and on windows of tokens.

    Metrics that the encoder does not support are left out. SimiLE needs a tokenizer to measure
    lengths. Windows need an encoder with token vectors in a table.
    """
    scorers = {}
    for similarity, suffix in SUFFIXES.items():
        try:
            scorers[suffix] = SimileScorer(encoder, similarity=similarity)
        except ModelError:
            if not suffix:
                scorers[suffix] = SimileScorer(encoder, similarity=similarity, penalty="none")

    def measure(outputs: list[str], references: list[str]) -> dict[str, np.ndarray]:
        values = {}
        for suffix, scorer in scorers.items():
            scores = scorer.score(outputs, references)
            values[f"SIM{suffix}"] = scores.sim
            if scorer.penalty != "none":
                values[f"SimiLE{suffix}"] = scores.simile
        return values

    return measure


def matching_measure(name: str) -> Measure:
    """Return a function that computes the metric `name`, one of `MATCHING`."""
    score = load_matching(name)
    return lambda outputs, references: {name: score(outputs, [[text] for text in references])}


YEARS = ("newstest2015", "newstest2016")


def correlations(measure: Measure, data_dir: Path) -> Iterator[Row]:
    """Yield Spearman's rho x 100 of metrics with human scores, for each language pair."""
    for config in find_source("wmt_da").configs:
        rows = load_dataset("wmt_da", config, data_dir=data_dir, streaming=True, split="test")
        references, outputs, human = zip(
            *((row["sentence1"], row["sentence2"], row["score"]) for row in rows), strict=True
        )
        scores = measure(list(outputs), list(references))
        year, pair = config.split(".")
        values = {name: spearman(each, human) for name, each in scores.items()}
        yield Row(year, pair, len(human), values)


def _tasks(
    correlate: Callable[[Measure, Path], Iterable[Row]], matching: Callable[[str], Measure]
) -> dict[str, Task]:
    """Make a task of SIM and SimiLE, and one of each other metric."""

    def task(name: str | None, encoder: Any, data_dir: Path) -> list[Row]:
        measure = semantic_measure(encoder) if name is None else matching(name)
        return list(correlate(measure, data_dir))

    return {"SimiLE": partial(task, None), **{name: partial(task, name) for name in MATCHING}}


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    return {
        f"{metric} {year.removeprefix('newstest')}": mean_of(rows, metric, year)
        for year in YEARS
        for metric in METRICS
        if any(metric in row.scores for row in rows)
    }


WMT_DA = Suite(
    "SIM and SimiLE as translation metrics, compared with BLEU, chrF and METEOR (7.2.1, Table 66)",
    "Spearman's rho x 100 with human scores of segments, mean of language pairs",
    _tasks(correlations, matching_measure),
    _headline,
    {
        "thesis, Table 66 (6 and 4 language pairs, other segments)": {
            "SIM 2015": 58.2,
            "SimiLE 2015": 58.4,
            "BLEU 2015": 53.6,
            "METEOR 2015": 58.9,
            "SIM 2016": 53.1,
            "SimiLE 2016": 53.2,
            "BLEU 2016": 50.0,
            "METEOR 2016": 57.2,
        }
    },
    notes=("BLEU and chrF: sacrebleu, per sentence. METEOR: nltk.",),
)


SYMMETRIC = " symmetric"
MEANS = "means of the years"  # group of the rows that the headline averages


def sts_correlations(measure: Measure, data_dir: Path) -> list[Row]:
    """Return each metric's Pearson r x 100 with human scores: per dataset, then means per year."""
    rows: list[Row] = []
    for year in sts.YEARS:
        of_year = []
        for pairs in read_sts_year(data_dir, year):
            scores = measure(list(pairs.second), list(pairs.first))
            values = {name: pearson(each, pairs.scores) for name, each in scores.items()}
            of_year.append(Row(year, pairs.name, len(pairs), values))
        means = {name: mean_of(of_year, name) for name in of_year[0].scores}
        rows += [*of_year, Row(MEANS, year, sum(row.size for row in of_year), means)]
    return rows


def symmetric_measure(name: str) -> Measure:
    """Return a function that computes a metric of `MATCHING`, and its mean in both directions."""
    one_way = matching_measure(name)

    def measure(outputs: list[str], references: list[str]) -> dict[str, np.ndarray]:
        there = one_way(outputs, references)[name]
        back = one_way(references, outputs)[name]
        return {name: there, name + SYMMETRIC: (there + back) / 2}

    return measure


def _sts_headline(rows: Sequence[Row]) -> dict[str, float]:
    names = [*METRICS, *(name + SYMMETRIC for name in MATCHING)]
    found = [row for row in rows if row.group == MEANS]
    return {name: mean_of(found, name) for name in names if any(name in r.scores for r in found)}


STS_METRICS = Suite(
    "SIM, SimiLE, BLEU, chrF and METEOR as similarities on STS 2012-2016 (7.2.1, Table 65)",
    "Pearson's r x 100, averaged over a year's datasets, then over the years",
    _tasks(sts_correlations, symmetric_measure),
    _sts_headline,
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
