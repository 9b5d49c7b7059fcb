"""Confidence and significance by resampling segments (Koehn, 2004), as in the thesis's Tables 68
and 69."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS_AT_A_TIME = 2**22


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
            less than 1.

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

    This is the share of resamples in which the system with the higher mean does not have it, both
    systems scored on the same segments (Koehn, 2004, section 4); equal means give 1. The test is
    one-sided. The thesis calls p < 0.05 significant.

    Args:
        first: Segment scores of one system, (segments,).
        second: Scores of the other system on the same segments, (segments,).
        samples: Number of resamples, 1 or more.
        seed: Seed of the draws, 0 or more.

    Returns:
        The probability, 0 to 1, in steps of 1 / samples.

    Raises:
        ValueError: There are no segments, the systems have unequal numbers of them, or `samples` is
            less than 1.

    Example:
        >>> paired_p_value(np.array([0.9, 0.8, 0.7]), np.array([0.1, 0.2, 0.3]))
        0.0
    """
    scores = _stacked([first, second], samples)
    difference = scores[:1] - scores[1:]
    total = float(difference.mean())
    if total == 0:
        return 1.0
    sign = np.sign(total)
    lost = sum((means * sign <= 0).sum() for means in _resampled_means(difference, samples, seed))
    return float(lost / samples)


def _stacked(systems: Sequence[np.ndarray], samples: int) -> np.ndarray:
    lengths = sorted({len(scores) for scores in systems})
    if len(lengths) != 1 or lengths[0] == 0:
        raise ValueError(
            "every system needs a score for each of the same segments, "
            f"got {', '.join(map(str, lengths)) or 'no'} segments"
        )
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    return np.stack([np.asarray(scores, np.float64) for scores in systems])


def _resampled_means(scores: np.ndarray, samples: int, seed: int) -> Iterator[np.ndarray]:
    """The mean of each system in each resample, (systems, some) at a time, `samples` in all.

    Equal seeds give equal draws.
    """
    segments = scores.shape[1]
    at_a_time = max(1, DRAWS_AT_A_TIME // segments)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        drawn = generator.integers(segments, size=(min(at_a_time, samples - start), segments))
        yield np.stack([row[drawn].mean(1) for row in scores])
