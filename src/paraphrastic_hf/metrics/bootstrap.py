"""Confidence and significance by resampling segments (Koehn, 2004), as in the thesis's Tables 68
and 69.

A test that draws resamples at random sees some of all there are, so it can say that a p-value is
small but never that it is 0. Of n resamples of which k are lost, the p-value is (k + 1) / (n + 1):
what was observed is itself one of the draws (Davison and Hinkley, 1997, section 4.2; Phipson and
Smyth, 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.errors import DataError

DRAWS_AT_A_TIME = 2**22
# If neither of two systems is better, the first leads on all of 4 segments by chance once in 16, on
# all of 5 once in 32: with fewer than 5 nothing is significant at 0.05, whatever a test says.
FEWEST = 5
ROUNDING = 1e-12  # of the largest score; means that are closer differ by rounding alone


@dataclass(frozen=True)
class Interval:
    """A mean score with the interval that its resamples fall in.

    Attributes:
        mean: Mean over the segments, 0 to 1 for SIM and SimiLE.
        low: Lower end of the interval, in the same unit: 2.5 % of the resamples are below it.
        high: Upper end of the interval: 2.5 % of the resamples are above it.
    """

    mean: float
    low: float
    high: float


def confidence_intervals(
    systems: Sequence[np.ndarray], *, samples: int = 1000, seed: int = 1, level: float = 0.95
) -> list[Interval]:
    """Return each system's mean score and the interval that its resampled means fall in.

    Args:
        systems: Segment scores of each system, (segments,); the same segments are drawn for all.
        samples: Number of resamples, 1 or more.
        seed: Seed of the draws, 0 or more.
        level: Share of the resamples that lie in the interval, 0 to 1.

    Raises:
        ValueError: There are no segments, the systems have unequal numbers of them, or `samples` is
            less than 1, or a score is not finite.

    Example:
        >>> confidence_intervals([np.array([0.5, 0.5, 0.5])])
        [Interval(mean=0.5, low=0.5, high=0.5)]
    """
    scores = _stacked(systems, samples)
    means = np.concatenate(list(_resampled_means(scores, samples, seed)), 1)  # (systems, samples)
    edges = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return [
        Interval(float(mean), float(low), float(high))
        for mean, low, high in zip(scores.mean(1), *edges, strict=True)
    ]


def paired_p_value(
    first: np.ndarray, second: np.ndarray, *, samples: int = 1000, seed: int = 1
) -> float:
    """Estimate how likely the better of two systems is not better on other segments of the kind.

    This is (k + 1) / (n + 1), where in k of n resamples the system with the higher mean does not
    have it, both systems scored on the same segments (Koehn, 2004, section 4); equal means give 1.
    The test is one-sided. The thesis calls p < 0.05 significant.

    Args:
        first: Segment scores of one system, (segments,).
        second: Scores of the other system on the same segments, (segments,).
        samples: Number of resamples, 1 or more.
        seed: Seed of the draws, 0 or more.

    Returns:
        The probability, 1 / (samples + 1) to 1; NaN for fewer than 5 segments, which no test can
        tell from chance.

    Raises:
        ValueError: There are no segments, the systems have unequal numbers of them, a score is not
            finite, or `samples` is less than 1.

    Example:
        >>> paired_p_value(np.full(9, 0.9), np.full(9, 0.8), samples=99)
        0.01
    """
    scores = _stacked([first, second], samples)
    if scores.shape[1] < FEWEST:
        return float("nan")
    difference = scores[:1] - scores[1:]
    rounding = ROUNDING * float(np.abs(scores).max())
    total = float(difference.mean())
    if abs(total) <= rounding:
        return 1.0
    sign = np.sign(total)
    resampled = _resampled_means(difference, samples, seed)
    return p_value_of(sum(int((means * sign <= rounding).sum()) for means in resampled), samples)


def p_value_of(lost: int, samples: int) -> float:
    """Return the p-value of a test that draws resamples: (k + 1) / (n + 1), never 0.

    Args:
        lost: Number of resamples k in which the better is not better, 0 to `samples`.
        samples: Number of resamples n, 1 or more.

    Example:
        >>> p_value_of(0, 1000) < 0.001
        True
    """
    return (lost + 1) / (samples + 1)


def p_text(value: float | None, samples: int) -> str:
    """Write a p-value with what is known of it: `<1/1001` where no resample was lost.

    Args:
        value: The p-value, 0 to 1; NaN or None where nothing was tested, which gives no text.
        samples: Number of resamples that it comes from.

    Example:
        >>> p_text(1 / 6, 5), p_text(0.0344, 1000), p_text(3 / 10001, 10000)
        ('<1/6', '0.034', '0.0003')
    """
    if value is None or np.isnan(value):
        return ""
    if value * (samples + 1) < 1.5:
        return f"<1/{samples + 1}"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def drawn_counts(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw resamples, and count how often each example is in each, (some, size) at a time.

    Args:
        size: Number of examples.
        samples: Number of resamples in all.
        seed: Seed of the draws, 0 or more; equal seeds give equal draws.
    """
    for drawn in _draws(size, samples, seed):
        drawn += size * np.arange(len(drawn))[:, None]
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def check_finite(name: str, values: np.ndarray) -> None:
    """Refuse numbers that no comparison can rank, such as NaN.

    Args:
        name: What to call the numbers in the message.
        values: The numbers, (examples,).

    Raises:
        DataError: A number is NaN or infinite; the message has the first one's place.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(
            f"{name} is {values[bad[0]]} at number {bad[0] + 1:,} of {len(values):,}; every score "
            "must be a finite number"
        )


def _stacked(systems: Sequence[np.ndarray], samples: int) -> np.ndarray:
    lengths = sorted({len(scores) for scores in systems})
    if len(lengths) != 1 or lengths[0] == 0:
        raise ValueError(
            "every system needs a score for each of the same segments, "
            f"got {', '.join(map(str, lengths)) or 'no'} segments"
        )
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    stacked = np.stack([np.asarray(scores, np.float64) for scores in systems])
    for number, scores in enumerate(stacked, 1):
        check_finite(f"the score of system {number}", scores)
    return stacked


def _resampled_means(scores: np.ndarray, samples: int, seed: int) -> Iterator[np.ndarray]:
    """The mean of each system in each resample, (systems, some) at a time, `samples` in all.

    Equal seeds give equal draws.
    """
    for drawn in _draws(scores.shape[1], samples, seed):
        yield np.stack([row[drawn].mean(1) for row in scores])


def _draws(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Numbers of the examples in each resample, (some, size) at a time, `samples` in all."""
    at_a_time = max(1, DRAWS_AT_A_TIME // size)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        yield generator.integers(size, size=(min(at_a_time, samples - start), size))
