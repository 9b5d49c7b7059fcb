"""An encoder's results on each example of a dataset, for confidence intervals and p-values.

`Judged` is for ratios of sums such as accuracies and F1, `Ranked` for correlations with scores and
for rankings of labeled pairs by cosine. Intervals come from resampling the examples (thesis, 7.4),
p-values from the paired permutation test (`metrics/resampling.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.evaluation.measures.similarity import pearson_rows, spearman_rows
from paraphrastic_hf.evaluation.suite import Row, Task
from paraphrastic_hf.metrics.resampling import ROUNDING, Resampled, Sums, check_finite


@dataclass(frozen=True)
class OfDataset(Resampled):
    """One encoder's results on a dataset. Scores are x 100."""

    group: str  # of the dataset, such as its year or `zero-shot gl az`
    name: str
    measure: str  # such as `accuracy` or `pearson`


@dataclass(frozen=True)
class Judged(OfDataset, Sums):
    """One encoder's results on one dataset, for scores that are ratios of sums.

    The score of a part, such as a fold, is 100 times its total gain divided by its total possible
    gain, both (parts, examples). The score of the dataset is the mean over its parts. For an
    accuracy the possible gain of an example is 1. For F1 each correct pair gains 2. Each found pair
    and each gold pair adds 1 to the possible gain.
    """

    gained: np.ndarray
    possible: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:  # type: ignore[override]
        """Gains and possible gains of each example, (examples, 2 * parts)."""
        return np.concatenate([self.gained, self.possible]).T.astype(np.float64)

    def score_of(self, sums: np.ndarray) -> np.ndarray:
        """A part with possible gain 0 scores 0."""
        gained, possible = np.split(sums, 2, axis=-1)
        shares = np.divide(gained, possible, out=np.zeros_like(gained), where=possible > 0)
        return np.asarray(100 * shares.mean(-1))


@dataclass(frozen=True)
class Ranked(OfDataset):
    """One encoder's cosines for the pairs of a dataset, for a measure of `MEASURES`."""

    cosines: np.ndarray
    gold: np.ndarray  # human score of each pair, or label 0 or 1, (pairs,)

    def __post_init__(self) -> None:
        check_finite("cosine", self.cosines)
        check_finite("gold score", self.gold)

    def __len__(self) -> int:
        return len(self.gold)

    def resampled(self, drawn: np.ndarray) -> np.ndarray:
        values, gold = (np.asarray(each, np.float64) for each in (self.cosines, self.gold))
        return 100 * MEASURES[self.measure](values[drawn], gold[drawn])

    def exchanged(self, other: Ranked, is_other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exchange cosines that are standardized for Pearson's r, and ranked for other measures.

        For correlations the test is therefore an approximation: 4 to 8 % of the comparisons of
        equally good encoders give p < 0.05.
        """
        from scipy import stats  # imported late, because it takes half a second

        scaled = _standardized if self.measure == "pearson" else stats.rankdata
        own, its = (scaled(np.asarray(each.cosines, np.float64)) for each in (self, other))
        gold, score = np.asarray(self.gold, np.float64), MEASURES[self.measure]
        if self.measure == "spearman":  # ranks are not computed again after an exchange
            gold, score = stats.rankdata(gold), pearson_rows
        gold = np.broadcast_to(gold, is_other.shape)
        first, second = np.where(is_other, its, own), np.where(is_other, own, its)
        return 100 * score(first, gold), 100 * score(second, gold)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Scale values to mean 0 and variance 1. Constant values become zeros."""
    centered = values - values.mean()
    deviation = centered.std()
    is_constant = deviation <= ROUNDING * np.abs(values).max()
    return np.zeros_like(centered) if is_constant else np.asarray(centered / deviation)


@dataclass(frozen=True, kw_only=True)
class JudgedTask:
    """A task of a suite that can also return its results for each example, by `judged`."""

    judged: Callable[[Any, Path], Sequence[OfDataset]]
    rows: Task | None = None  # if the scores are more than those of `judged`

    def __call__(self, encoder: Any, data_dir: Path) -> Sequence[Row]:
        if self.rows is not None:
            return self.rows(encoder, data_dir)
        judged = self.judged(encoder, data_dir)
        return [Row(x.group, x.name, len(x), {x.measure: x.score}) for x in judged]


def average_precision(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of each row of labeled pairs, (rows,), 0 to 1.

    This is the mean of the precision at each positive pair (label 1), with pairs sorted by
    decreasing value. Equal values share one threshold. A row without positive pairs has 0.
    """
    is_right, right, is_last = _sorted(values, labels)
    size = values.shape[1]
    ends = np.where(is_last, np.arange(size), size)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]  # last place of the equal values
    precision = np.take_along_axis(right, ends, 1) / (ends + 1)
    return np.asarray((is_right * precision).sum(1) / np.maximum(right[:, -1], 1))


def best_accuracy(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the accuracy of each row of pairs at its best threshold, (rows,), 0 to 1.

    A pair is classified as positive if its value reaches the threshold.
    """
    _, right, is_last = _sorted(values, labels)
    size = values.shape[1]
    gained = np.where(is_last, 2 * right - np.arange(1, size + 1), 0).max(1)
    return np.asarray((np.maximum(gained, 0) + size - right[:, -1]) / size)


def best_threshold(ranked: Ranked) -> float:
    """Return the lowest cosine that is classified as positive at the best accuracy.

    It is 1 if no pair is classified as positive.
    """
    cosines = np.asarray(ranked.cosines, np.float64)
    _, right, is_last = _sorted(cosines[None], np.asarray(ranked.gold)[None])
    gained = np.where(is_last, 2 * right - np.arange(1, len(ranked) + 1), 0)[0]
    return float(np.sort(cosines)[::-1][gained.argmax()]) if gained.max() > 0 else 1.0


def _sorted(values: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort each row by decreasing value. Return labels, running sums, and ends of equal values."""
    order = np.argsort(-values, axis=1, kind="stable")
    labels, values = (np.take_along_axis(each, order, 1) for each in (labels, values))
    is_last = np.concatenate([np.diff(values) < 0, np.ones((len(values), 1), bool)], 1)
    return labels, labels.cumsum(1), is_last


MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "pearson": pearson_rows,
    "spearman": spearman_rows,
    "average precision": average_precision,
    "accuracy": best_accuracy,
}
