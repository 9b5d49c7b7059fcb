"""SIM, SimiLE and word-matching metrics as translation metrics (thesis, Table 66).

A metric's score is Spearman's rho with human direct assessments of segments, averaged over language
pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.evaluation.measures.similarity import spearman
from paraphrastic_hf.evaluation.suite import Row, Suite, Task, mean_of
from paraphrastic_hf.metrics.matching import MATCHING, load_matching
from paraphrastic_hf.metrics.scorer import SimileScorer

BY_WINDOWS = " by windows"
SEMANTIC = ("SIM", "SimiLE")
METRICS = (*SEMANTIC, *(name + BY_WINDOWS for name in SEMANTIC), *MATCHING)

Measure = Callable[[list[str], list[str]], dict[str, np.ndarray]]


def semantic_measure(encoder: Any) -> Measure:
    """Return a function that computes SIM and SimiLE on sentences and on windows of tokens.

    Metrics that the encoder does not support are left out. SimiLE needs a tokenizer to measure
    lengths. Windows need an encoder that averages vectors from an embedding table.
    """
    scorers = {}
    for suffix, similarity in (("", "sentences"), (BY_WINDOWS, "windows")):
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


def _semantic(encoder: Any, data_dir: Path) -> list[Row]:
    return list(correlations(semantic_measure(encoder), data_dir))


def _matching(name: str) -> Task:
    return lambda encoder, data_dir: list(correlations(matching_measure(name), data_dir))


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
    {"SimiLE": _semantic, **{name: _matching(name) for name in MATCHING}},
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
