"""Correlations of cosines with human scores, by dataset and by group (thesis, 2.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine

Encode = Callable[[list[str]], np.ndarray]
WHOLE = "all pairs"  # name of the scores over all pairs of a group


@dataclass(frozen=True)
class DatasetScore:
    """Correlations x 100 of cosines with gold scores on one dataset.

    Attributes:
        group: Group of datasets that are averaged together, such as the year.
    """

    name: str
    group: str
    pairs: int
    pearson: float
    spearman: float


@dataclass(frozen=True)
class SuiteScore:
    """Scores of each dataset, and over all pairs of each group (named `WHOLE`)."""

    datasets: list[DatasetScore]
    groups: list[DatasetScore]


def score_suite(encode: Encode, suite: Sequence[ScoredPairs]) -> SuiteScore:
    """Compute the correlations of every dataset and group. Every sentence is encoded only once.

    `encode` returns vectors, (texts, dim). Datasets with equal `group` are also scored together.
    """

    def score(name: str, group: str, cosine: np.ndarray, gold: Any) -> DatasetScore:
        return DatasetScore(name, group, len(gold), pearson(cosine, gold), spearman(cosine, gold))

    datasets: list[DatasetScore] = []
    by_group: dict[str, list[tuple[np.ndarray, list[float]]]] = {}
    for pairs, cosine in zip(suite, cosines(encode, suite), strict=True):
        datasets.append(score(pairs.name, pairs.group, cosine, pairs.scores))
        by_group.setdefault(pairs.group, []).append((cosine, pairs.scores))
    groups = [
        score(WHOLE, group, *map(np.concatenate, zip(*parts, strict=True)))
        for group, parts in by_group.items()
    ]
    return SuiteScore(datasets, groups)


def cosines(encode: Encode, suite: Sequence[ScoredPairs]) -> list[np.ndarray]:
    """Return the cosines of each dataset's pairs, (pairs,). Every text is encoded only once."""
    texts = sorted(
        {text for pairs in suite for side in (pairs.first, pairs.second) for text in side}
    )
    place = {text: i for i, text in enumerate(texts)}
    vectors = checked_vectors(encode(texts), len(texts))
    return [
        pairwise_cosine(
            *(vectors[[place[text] for text in side]] for side in (pairs.first, pairs.second))
        )
        for pairs in suite
    ]


def pearson(predicted: Sequence[float] | np.ndarray, gold: Sequence[float] | np.ndarray) -> float:
    """Return Pearson's r x 100, or 0 if one argument is constant."""
    if np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return 0.0
    from scipy import stats  # imported late, because it takes half a second

    return float(stats.pearsonr(predicted, gold).statistic * 100)


def spearman(predicted: Sequence[float] | np.ndarray, gold: Sequence[float] | np.ndarray) -> float:
    """Return Spearman's rho x 100, or 0 if one argument is constant."""
    if np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return 0.0
    from scipy import stats  # imported late, because it takes half a second

    return float(stats.spearmanr(predicted, gold).statistic * 100)
