from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.evaluation.measures.similarity import pearson, score_suite, spearman
from paraphrastic_hf.evaluation.suite import Row, mean_of, weighted_mean_of

ANGLES = {"zero": 0.0, "a": 0.2, "b": 0.7, "c": 1.1, "d": 1.5}


def encode(texts: list[str]) -> np.ndarray:
    """Return unit vectors at known angles."""
    return np.array([[np.cos(ANGLES[t]), np.sin(ANGLES[t])] for t in texts])


def dataset(name: str, group: str, others: str, scores: list[float]) -> ScoredPairs:
    return ScoredPairs(name, group, ["zero"] * len(others), list(others), scores)


def test_scores_by_hand() -> None:
    gold = [5.0, 3.0, 4.0, 0.0]
    score = score_suite(encode, [dataset("x", "2012", "abcd", gold)]).datasets[0]
    cosines = [np.cos(ANGLES[letter]) for letter in "abcd"]
    assert score.pearson == pytest.approx(100 * np.corrcoef(cosines, gold)[0, 1])
    assert score.spearman == pytest.approx(80)  # ranks 4 3 2 1 and 4 2 3 1: 1 - 6 * 2 / 60
    assert score.pairs == 4
    assert pearson([1, 1, 1], [1, 2, 3]) == spearman([1, 2, 3], [2, 2, 2]) == 0


def test_the_three_averages_of_a_year() -> None:
    suite = [dataset("x", "2012", "abcd", [4, 3, 2, 1]), dataset("y", "2012", "ac", [0, 5])]
    result = score_suite(encode, suite)
    x, y = (score.pearson for score in result.datasets)
    (year,) = result.groups
    assert y == pytest.approx(-100)
    rows = [Row(d.group, d.name, d.pairs, {"pearson": d.pearson}) for d in result.datasets]
    assert mean_of(rows, "pearson", "2012") == pytest.approx((x + y) / 2)
    assert weighted_mean_of(rows, "pearson", "2012") == pytest.approx((4 * x + 2 * y) / 6)
    assert mean_of(rows, "pearson") == mean_of(rows, "pearson", "2012")
    cosines = [np.cos(ANGLES[letter]) for letter in "abcdac"]
    assert year.pearson == pytest.approx(100 * np.corrcoef(cosines, [4, 3, 2, 1, 0, 5])[0, 1])
