"""Correlations of cosines with human scores, by dataset and by group (thesis, 2.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine

Encode = Callable[[list[str]], np.ndarray]


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
class GroupScore:
    """Pearson's r and Spearman's rho x 100 over all pairs of a group of datasets."""

    group: str
    pairs: int
    all_pearson: float
    all_spearman: float


@dataclass(frozen=True)
class SuiteScore:
    datasets: list[DatasetScore]
    groups: list[GroupScore]


def score_suite(encode: Encode, suite: Sequence[ScoredPairs]) -> SuiteScore:
    """Compute the correlations of every dataset and group. Every sentence is encoded only once.

    `encode` returns vectors, (texts, dim). Datasets with equal `group` are also scored together.
    """
    datasets: list[DatasetScore] = []
    by_group: dict[str, list[tuple[np.ndarray, list[float]]]] = {}
    for pairs, cosine in zip(suite, cosines(encode, suite), strict=True):
        datasets.append(
            DatasetScore(
                pairs.name,
                pairs.group,
                len(pairs),
                pearson(cosine, pairs.scores),
                spearman(cosine, pairs.scores),
            )
        )
        by_group.setdefault(pairs.group, []).append((cosine, pairs.scores))
    groups = []
    for group, parts in by_group.items():
        cosine = np.concatenate([part[0] for part in parts])
        gold = np.concatenate([part[1] for part in parts])
        groups.append(
            GroupScore(
                group,
                len(gold),
                pearson(cosine, gold),
                spearman(cosine, gold),
            )
        )
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
