"""Confidence intervals by resampling segments (Koehn, 2004), as in the thesis's Tables 68 and 69.
`permutation.py` has the p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.errors import DataError

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


def drawn_counts(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw resamples, and count how often each example is in each, (some, size) at a time.

    Args:
        size: Number of examples.
        samples: Number of resamples in all.
        seed: Seed of the draws, 0 or more; equal seeds give equal draws.
    """
    for drawn in drawn_examples(size, samples, seed):
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
    for drawn in drawn_examples(scores.shape[1], samples, seed):
        yield np.stack([row[drawn].mean(1) for row in scores])


def drawn_examples(size: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Draw the numbers of the examples in each resample, (some, size) at a time.

    Args:
        size: Number of examples.
        samples: Number of resamples in all.
        seed: Seed of the draws, 0 or more; equal seeds give equal draws.
    """
    at_a_time = max(1, DRAWS_AT_A_TIME // size)
    generator = np.random.default_rng(seed)
    for start in range(0, samples, at_a_time):
        yield generator.integers(size, size=(min(at_a_time, samples - start), size))
