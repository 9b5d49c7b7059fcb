"""Confidence intervals by resampling segments (Koehn, 2004; thesis, Tables 68 and 69), and paired
permutation tests of the difference between two systems.

The permutation test swaps the outputs of the two systems on some segments, in many ways. The
p-value is the share of these ways with at least the observed score difference (Noreen, 1989;
Riezler and Maxwell, 2005). The test is two-sided and, for mean segment scores, exact for any number
of segments.

The papers use the paired bootstrap (Koehn, 2004) instead. It is one-sided, and its p-values are too
small for few segments: with 5 to 20 segments, 13 to 21 % of equally good systems have p < 0.05.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.errors import DataError

DRAWS_AT_A_TIME = 2**22


@dataclass(frozen=True)
class Interval:
    """Mean score of the segments with a confidence interval, 0 to 1 for SIM and SimiLE."""

    mean: float
    low: float
    high: float


def confidence_intervals(
    systems: Sequence[np.ndarray], *, samples: int = 1000, seed: int = 1, level: float = 0.95
) -> list[Interval]:
    """Return the mean of each system's segment scores, (segments,), with the interval that contains
    the share `level` of resampled means. All systems share the drawn segments.
    """
    scores = _stacked(systems, samples)
    means = np.concatenate(list(_resampled_means(scores, samples, seed)), 1)  # (systems, samples)
    edges = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return [
        Interval(float(mean), float(low), float(high))
        for mean, low, high in zip(scores.mean(1), *edges, strict=True)
    ]


def drawn_counts(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw resamples. Yield blocks, (resamples, size): how often each example was drawn."""
    for drawn in drawn_examples(size, samples, seed):
        drawn += size * np.arange(len(drawn))[:, None]
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def check_finite(name: str, values: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(
            f"{name} must be finite, got {values[bad[0]]} at number {bad[0] + 1:,} of "
            f"{len(values):,}"
        )


def _stacked(systems: Sequence[np.ndarray], samples: int) -> np.ndarray:
    lengths = sorted({len(scores) for scores in systems})
    if len(lengths) != 1 or lengths[0] == 0:
        raise ValueError(
            "systems must have scores for the same segments, "
            f"got {', '.join(map(str, lengths)) or 'no'} segments"
        )
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    stacked = np.stack([np.asarray(scores, np.float64) for scores in systems])
    for number, scores in enumerate(stacked, 1):
        check_finite(f"score of system {number}", scores)
    return stacked


def _resampled_means(scores: np.ndarray, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield mean scores of each system in blocks of resamples, (systems, resamples)."""
    for drawn in drawn_examples(scores.shape[1], samples, seed):
        yield np.stack([row[drawn].mean(1) for row in scores])


def drawn_examples(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw resamples. Yield blocks, (resamples, size): indices of the drawn examples."""
    at_a_time = max(1, DRAWS_AT_A_TIME // size)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        yield generator.integers(size, size=(min(at_a_time, samples - start), size))


EXACT = 20  # segments. With more, exchanges are drawn at random.
ROUNDING = 1e-12  # of the largest score. Smaller differences are rounding errors.


def paired_p_value(
    first: np.ndarray,
    second: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray] | None = None,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> float:
    """Compute the probability that equally good systems differ at least as much as these two.

    The test swaps the two outputs of some segments: in all possible ways for up to 20 segments,
    else in n = `samples` random ways. If k of these give at least the observed score difference, p
    is (k + 1) / (n + 1). If all ways of m segments are tried, p is at least 2 / 2**m.

    `first` and `second` are segment scores, (segments,), or statistics, (segments, columns).
    `score` turns summed statistics, (..., columns), into corpus scores, (...). None compares mean
    segment scores.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(
            f"Both systems must have scores for the same segments, got {len(first):,} and "
            f"{len(second):,}"
        )
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    rows = [np.asarray(each, np.float64).reshape(len(each), -1) for each in (first, second)]
    for number, values in enumerate(rows, 1):
        check_finite(f"score of system {number}", values.sum(1))
    change = rows[1] - rows[0]
    chosen = exchanges(len(change), samples, seed)
    moved = np.concatenate([each.astype(np.float64) @ change for each in chosen])
    sums = rows[0].sum(0) + moved, rows[1].sum(0) - moved
    scores = np.stack([each[:, 0] if score is None else score(each) for each in sums])
    differences = np.abs(scores[0] - scores[1])
    return float((differences >= differences[0] - ROUNDING * np.abs(scores).max()).mean())


def p_text(value: float | None) -> str:
    """Format a p-value with three decimals, or one digit below 0.001. None and NaN are empty."""
    if value is None or np.isnan(value):
        return ""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


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
