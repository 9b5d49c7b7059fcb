"""What an encoder did on each example of a dataset.

Resampling the examples gives the interval of a score, and compares two encoders (thesis, 7.4).
`Judged` is for accuracies, F1 and other ratios of sums, `Ranked` for correlations with scores and
for how cosines rank labeled pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from paraphrastic_hf.evaluation.suite import Row, Task
from paraphrastic_hf.metrics.bootstrap import (
    FEWEST,
    ROUNDING,
    Interval,
    check_finite,
    drawn_counts,
    p_value_of,
)

EDGES = (0.025, 0.975)  # of a 95 % interval


class Resampled(Protocol):
    """One encoder's results on one dataset, example by example: `Judged` or `Ranked`."""

    @property
    def group(self) -> str:
        """The group of the dataset, such as its year."""

    @property
    def name(self) -> str:
        """The name of the dataset."""

    @property
    def measure(self) -> str:
        """The name of the score, such as `accuracy`."""

    @property
    def score(self) -> float:
        """The score on all examples, x 100."""

    def __len__(self) -> int: ...

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """Return the score of each resample, (samples,), x 100.

        Args:
            counts: How often each example is in each resample, (samples, examples).
        """


@dataclass(frozen=True)
class Judged:
    """One encoder's results on one dataset, example by example.

    The score is 100 times the mean, over the parts that are scored apart, of what was gained in all
    over what there was to gain in all. An accuracy has one part, and 1 to gain from each example.
    An F1 gains 2 for a pair that is found and right, of 1 for each that is found and 1 for each
    that is right.

    Attributes:
        group: The group of the dataset, such as `zero-shot gl az`.
        name: Its name.
        measure: What the score is called, such as `accuracy`.
        gained: (parts, examples).
        possible: (parts, examples).
    """

    group: str
    name: str
    measure: str
    gained: np.ndarray
    possible: np.ndarray

    def __len__(self) -> int:
        return int(self.gained.shape[1])

    @property
    def score(self) -> float:
        """The score on all examples, x 100.

        Example:
            >>> right = np.array([[1.0, 0.0, 1.0, 1.0]])
            >>> Judged("others", "deu", "accuracy", right, np.ones_like(right)).score
            75.0
        """
        return float(self.resampled(np.ones((1, len(self))))[0])

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """The score of each resample, (samples,), x 100; 0 in a part with nothing to gain.

        Args:
            counts: How often each example is in each resample, (samples, examples).
        """
        counts = counts.astype(np.float64)
        gained, possible = counts @ self.gained.T, counts @ self.possible.T  # (samples, parts)
        shares = np.divide(gained, possible, out=np.zeros_like(gained), where=possible > 0)
        return np.asarray(100 * shares.mean(1))


@dataclass(frozen=True)
class Ranked:
    """One encoder's cosines for the pairs of a dataset, with people's scores or labels.

    Attributes:
        group: The group of the dataset, such as its year.
        name: Its name.
        measure: A key of `MEASURES`.
        cosines: (pairs,).
        gold: Scores, or labels that are 0 or 1, (pairs,).

    Raises:
        ValueError: The two differ in length or are empty, or a number is not finite.

    Example:
        >>> cosines, labels = np.array([0.9, 0.8, 0.3]), np.array([1, 0, 0])
        >>> Ranked("", "mine", "average precision", cosines, labels).score
        100.0
    """

    group: str
    name: str
    measure: str
    cosines: np.ndarray
    gold: np.ndarray

    def __post_init__(self) -> None:
        if len(self.cosines) != len(self.gold) or not len(self.gold):
            raise ValueError(f"got {len(self.cosines)} cosines for {len(self.gold)} gold scores")
        check_finite("the cosine", self.cosines)
        check_finite("the gold score", self.gold)

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def score(self) -> float:
        """The score on all pairs, x 100."""
        return float(self.resampled(np.ones((1, len(self)), np.int64))[0])

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """The score of each resample, (samples,), x 100.

        Args:
            counts: How often each pair is in each resample, (samples, pairs).
        """
        values = np.stack([self.cosines, self.gold]).astype(np.float64)
        return 100 * MEASURES[self.measure](values, counts)


@dataclass(frozen=True)
class JudgedTask:
    """A task of a suite that can say what an encoder did on each example.

    Attributes:
        rows: What it is as a task: scores from the encoder and the folder of official files.
        judged: The results by example, of the datasets and measures that two encoders are compared
            by; errors as of a task.
    """

    rows: Task
    judged: Callable[[Any, Path], Sequence[Resampled]]

    def __call__(self, encoder: Any, data_dir: Path) -> Sequence[Row]:
        return self.rows(encoder, data_dir)


def resampled_scores(judged: Resampled, *, samples: int = 1000, seed: int = 1) -> np.ndarray:
    """Return the scores of random resamples of the examples, (samples,), x 100.

    Equal numbers of examples and equal seeds give equal resamples, so the scores of two encoders
    are paired.

    Raises:
        ValueError: `samples` is less than 1.
    """
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    drawn = drawn_counts(len(judged), samples, seed)
    return np.concatenate([judged.resampled(counts) for counts in drawn])


def confidence_interval(judged: Resampled, *, samples: int = 1000, seed: int = 1) -> Interval:
    """Return a score, x 100, with its 95 % interval: the quantiles of the resampled scores.

    Example:
        >>> right = np.ones((1, 9))
        >>> confidence_interval(Judged("", "", "accuracy", right, right), samples=99)
        Interval(mean=100.0, low=100.0, high=100.0)
    """
    return interval_of(judged.score, resampled_scores(judged, samples=samples, seed=seed))


def interval_of(score: float, drawn: np.ndarray) -> Interval:
    """Return a score with the 95 % interval of its resamples, (samples,)."""
    low, high = np.quantile(drawn, EDGES)
    return Interval(float(score), float(low), float(high))


def paired_bootstrap(
    first: Resampled, second: Resampled, *, samples: int = 1000, seed: int = 1
) -> tuple[Interval, float]:
    """Compare two encoders on the same examples.

    Args:
        first: The results of one encoder.
        second: The results of the other.
        samples: Number of resamples n, 1 or more.
        seed: Seed of the draws.

    Returns:
        The difference, second less first, with its 95 % interval; and the one-sided p-value that
        the better encoder is not better on other examples of the kind, as of `p_of_difference`.

    Raises:
        ValueError: The two have different numbers of examples, or `samples` is less than 1.

    Example:
        >>> right, wrong, every = np.ones((1, 9)), np.zeros((1, 9)), np.ones((1, 9))
        >>> a, b = (Judged("", "", "accuracy", hits, every) for hits in (right, wrong))
        >>> paired_bootstrap(a, b, samples=99)
        (Interval(mean=-100.0, low=-100.0, high=-100.0), 0.01)
    """
    if len(first) != len(second):
        raise ValueError(f"the two are of {len(first):,} and {len(second):,} examples")
    one, other = (resampled_scores(each, samples=samples, seed=seed) for each in (first, second))
    difference, drawn = second.score - first.score, other - one
    return interval_of(difference, drawn), p_of_difference(difference, drawn, len(first))


def p_of_difference(difference: float, drawn: np.ndarray, examples: int) -> float:
    """Return (k + 1) / (n + 1), where in k of n resamples the better of two is not better.

    Args:
        difference: Difference of the scores, x 100.
        drawn: The difference in each resample, (n,).
        examples: Number of examples that were resampled.

    Returns:
        The p-value; 1 for equal scores, NaN for fewer than five examples.
    """
    if examples < FEWEST:
        return float("nan")
    if abs(difference) <= 100 * ROUNDING:
        return 1.0
    lost = int((drawn * np.sign(difference) <= 100 * ROUNDING).sum())
    return p_value_of(lost, len(drawn))


def resampled_correlations(values: np.ndarray, counts: np.ndarray, measure: str) -> np.ndarray:
    """Correlate predictions with gold scores in every resample.

    Args:
        values: The predictions, and last the gold scores, (predictions + 1, examples).
        counts: How often each example is in each resample, (samples, examples).
        measure: `pearson` or `spearman`.

    Returns:
        The correlations, -1 to 1, (predictions, samples); 0 where a side is constant.
    """
    if measure == "spearman":
        resampled = [_ranks(row, counts) for row in values]  # (samples, examples) each
    else:
        resampled = [np.broadcast_to(row, counts.shape) for row in values]
    size = counts.sum(1, keepdims=True)
    centred = [row - (row * counts).sum(1, keepdims=True) / size for row in resampled]
    squares = [(row * row * counts).sum(1) for row in centred]
    scales = [(row * row * counts).sum(1) for row in resampled]
    found = np.zeros((len(values) - 1, len(counts)))
    for i in range(len(values) - 1):
        varies = (squares[i] > 1e-20 * scales[i]) & (squares[-1] > 1e-20 * scales[-1])
        product = (centred[i] * centred[-1] * counts).sum(1)
        found[i, varies] = product[varies] / np.sqrt(squares[i] * squares[-1])[varies]
    return found


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rank of each example in each resample, (samples, examples); equal ones share the mean."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    members = np.add.reduceat(counts[:, order], starts, axis=1)  # (samples, distinct values)
    upto = members.cumsum(1)
    return np.asarray((upto - (members - 1) / 2)[:, group])


def average_precision(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Average precision of labeled pairs in every resample, 0 to 1, (samples,).

    This is the precision at every positive pair, pairs sorted by falling cosine, averaged; equal
    cosines are taken together. It is 0 without a positive pair.

    Args:
        values: Cosines and labels (0 or 1), (2, pairs).
        counts: How often each pair is in each resample, (samples, pairs).
    """
    right, taken = _at_thresholds(values, counts)
    gained = np.diff(right, axis=1, prepend=0)
    found = (gained * right / np.maximum(taken, 1)).sum(1)
    return np.asarray(found / np.maximum(right[:, -1], 1))


def best_accuracy(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Accuracy of labeled pairs at the threshold that is best in each resample, 0 to 1, (samples,).

    A pair is called positive if its cosine reaches the threshold.

    Args:
        values: Cosines and labels (0 or 1), (2, pairs).
        counts: How often each pair is in each resample, (samples, pairs).
    """
    right, taken = _at_thresholds(values, counts)
    negatives = taken[:, -1] - right[:, -1]
    most = np.maximum((2 * right - taken).max(1), 0) + negatives
    return np.asarray(most / taken[:, -1])


def best_threshold(ranked: Ranked) -> float:
    """Return the lowest cosine of a pair that is called positive where accuracy is best; 1 if no
    pair is.

    Example:
        >>> best_threshold(Ranked("", "", "accuracy", np.array([0.9, 0.2]), np.array([1, 0])))
        0.9
    """
    values = np.stack([ranked.cosines, ranked.gold]).astype(np.float64)
    right, taken = _at_thresholds(values, np.ones((1, len(ranked)), np.int64))
    gained = (2 * right - taken)[0]
    best = int(gained.argmax())
    return float(-np.unique(-values[0])[best]) if gained[best] > 0 else 1.0


def _at_thresholds(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many positive pairs, and pairs in all, reach each distinct cosine, highest first; each
    (samples, cosines)."""
    cosines, labels = values
    order = np.argsort(-cosines, kind="stable")
    is_last = np.append(np.diff(cosines[order]) < 0, True)
    counts = counts[:, order]
    right, taken = (each.cumsum(1)[:, is_last] for each in (counts * labels[order], counts))
    return right, taken


MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "pearson": lambda values, counts: resampled_correlations(values, counts, "pearson")[0],
    "spearman": lambda values, counts: resampled_correlations(values, counts, "spearman")[0],
    "average precision": average_precision,
    "accuracy": best_accuracy,
}
