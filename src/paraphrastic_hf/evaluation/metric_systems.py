"""Metrics of translation as functions from hypotheses and references to scores, for the suites that
set them beside people's judgements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.metrics.matching import MATCHING, load_matching
from paraphrastic_hf.metrics.scorer import SimileScorer

BY_WINDOWS = " by windows"
SEMANTIC = ("SIM", "SimiLE")
METRICS = (*SEMANTIC, *(name + BY_WINDOWS for name in SEMANTIC), *MATCHING)

Measure = Callable[[list[str], list[str]], dict[str, np.ndarray]]


def semantic_measure(encoder: Any) -> Measure:
    """SIM; SimiLE if the encoder has a tokenizer to measure lengths with; and both by windows if it
    averages the rows of a table.

    Args:
        encoder: Any object with `encode(list of texts)`.
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
    """A metric that matches words.

    Args:
        name: One of `MATCHING`.

    Raises:
        DataError: Its library or its data is not installed.
    """
    score = load_matching(name)
    return lambda outputs, references: {name: score(outputs, [[text] for text in references])}
