"""Confidence intervals by resampling examples (Koehn, 2004; thesis, Tables 68 and 69), and paired
permutation tests of the difference between two systems.

The permutation test swaps the results of the two systems on some examples, in many ways. The
p-value is the share of these ways with at least the observed score difference (Noreen, 1989;
Riezler and Maxwell, 2005). The test is two-sided and, for mean segment scores, exact for any number
of segments.

The papers use the paired bootstrap (Koehn, 2004) instead. It is one-sided, and its p-values are too
small for few segments: with 5 to 20 segments, 13 to 21 % of equally good systems have p < 0.05.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError

DRAWS_AT_A_TIME = 2**22
EXACT = 20  # examples. With more, exchanges are drawn at random.
ROUNDING = 1e-12  # of the largest score. Smaller differences are rounding errors.
EDGES = (0.025, 0.975)  # quantiles of a 95 % interval


class Resampled(ABC):
    """One system's results on each example of a dataset."""

    @property
    def score(self) -> float:
        return float(self.resampled(np.arange(len(self))[None])[0])

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def resampled(self, drawn: np.ndarray) -> np.ndarray:
        """Return the score of each resample of example indices, (samples, examples)."""

    @abstractmethod
    def exchanged(self, other: Any, is_other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of this system and of `other` after exchanges of their results.

        `is_other`, (permutations, examples), marks the exchanged examples.
        """


class Sums(Resampled):
    """Results whose score depends only on the sums of statistics over the examples."""

    rows: np.ndarray  # statistics, (examples, columns) float64

    @abstractmethod
    def score_of(self, sums: np.ndarray) -> np.ndarray:
        """Return the score of summed statistics, (..., columns)."""

    @property
    def score(self) -> float:
        return float(self.score_of(self.rows.sum(0)))

    def __len__(self) -> int:
        return len(self.rows)

    def resampled(self, drawn: np.ndarray) -> np.ndarray:
        places = drawn + len(self) * np.arange(len(drawn))[:, None]
        counts = np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape)
        return self.score_of(counts.astype(np.float64) @ self.rows)

    def exchanged(self, other: Any, is_other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own, its = self.rows, other.rows
        moved = is_other.astype(np.float64) @ (its - own)
        return self.score_of(own.sum(0) + moved), self.score_of(its.sum(0) - moved)


class Means(Sums):
    """Segment scores, (segments,), whose mean is the score. `name` is for messages."""

    def __init__(self, scores: np.ndarray, name: str = "score") -> None:
        check_finite(name, scores)
        self.rows = np.asarray(scores, np.float64)[:, None]

    def score_of(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums[..., 0] / len(self))


@dataclass(frozen=True)
class Interval:
    """A score with a 95 % confidence interval."""

    mean: float
    low: float
    high: float


def check_finite(name: str, values: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(
            f"{name} must be finite, got {values[bad[0]]} at number {bad[0] + 1:,} of "
            f"{len(values):,}"
        )


def resampled_scores(results: Resampled, *, samples: int = 1000, seed: int = 1) -> np.ndarray:
    """Return the scores of bootstrap resamples of the examples, (samples,).

    Calls with equal seed and number of examples draw the same resamples, so that the scores of two
    systems are paired.
    """
    drawn = drawn_examples(len(results), samples, seed)
    return np.concatenate([results.resampled(each) for each in drawn])


def confidence_interval(results: Resampled, *, samples: int = 1000, seed: int = 1) -> Interval:
    return _interval(results.score, resampled_scores(results, samples=samples, seed=seed))


def difference_interval(
    first: Resampled, second: Resampled, *, samples: int = 1000, seed: int = 1
) -> Interval:
    """Return the score of `second` minus `first`, with its 95 % bootstrap interval."""
    one, other = (resampled_scores(each, samples=samples, seed=seed) for each in (first, second))
    return _interval(second.score - first.score, other - one)


def _interval(score: float, drawn: np.ndarray) -> Interval:
    low, high = np.quantile(drawn, EDGES)
    return Interval(float(score), float(low), float(high))


def p_value(first: Resampled, second: Resampled, *, samples: int = 1000, seed: int = 1) -> float:
    """Compute the probability that equally good systems differ at least as much as these two.

    With at most 20 examples, all possible exchanges are tried, with more examples n = `samples`
    random ones. If k of the random ones give at least the observed score difference, p is (k + 1)
    / (n + 1). With all exchanges of m examples, p is at least 2 / 2**m.
    """
    return weighted_p_value([(1.0, first, second)], samples=samples, seed=seed)


def weighted_p_value(
    parts: Sequence[tuple[float, Resampled, Resampled]], *, samples: int = 1000, seed: int = 1
) -> float:
    """Return the two-sided p-value of the difference between two systems' weighted sums of scores.

    `parts` has the weight and the results of the two systems for each dataset. The first dataset is
    permuted with `seed`, the next one with `seed` + 1, and so on.
    """
    differences, largest = [], 0.0
    for number, (weight, first, second) in enumerate(parts):
        swaps = exchanges(len(first), samples, seed + number, exact=len(parts) == 1)
        scores = np.concatenate([first.exchanged(second, each) for each in swaps], axis=1)
        differences.append(weight * (scores[0] - scores[1]))
        largest = max(largest, float(np.abs(scores).max()))
    total = np.abs(np.sum(differences, axis=0))
    return float((total >= total[0] - ROUNDING * largest).mean())


def p_text(value: float | None) -> str:
    """Format a p-value with three decimals, or one digit below 0.001. None and NaN are empty."""
    if value is None or np.isnan(value):
        return ""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def drawn_examples(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw resamples. Yield blocks, (resamples, size): indices of the drawn examples."""
    at_a_time = max(1, DRAWS_AT_A_TIME // size)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        yield generator.integers(size, size=(min(at_a_time, samples - start), size))


def exchanges(size: int, samples: int, seed: int, *, exact: bool = True) -> Iterator[np.ndarray]:
    """Yield masks of the examples to swap between two systems, in blocks (masks, size) of bool. The
    first swaps none.

    If `exact`, up to 20 examples have all masks. The last example is then never swapped, because a
    mask and its complement give differences of opposite sign.
    """
    at_a_time = max(1, DRAWS_AT_A_TIME // size)
    if exact and size <= EXACT:
        for start in range(0, 2 ** (size - 1), at_a_time):
            numbers = np.arange(start, min(start + at_a_time, 2 ** (size - 1)))
            yield (numbers[:, None] >> np.arange(size)) & 1 == 1
        return
    yield np.zeros((1, size), bool)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        shape = (min(at_a_time, samples - start), size)
        yield generator.integers(2, size=shape, dtype=np.int8) == 1
