"""What an encoder did on each example of a dataset, where its score is an accuracy or an F1: two
encoders are then compared example by example, by the paired bootstrap (thesis, 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.evaluation.suite import Row, Task
from paraphrastic_hf.metrics.bootstrap import FEWEST, ROUNDING, drawn_counts, p_value_of


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
class JudgedTask:
    """A task of a suite that can say what an encoder did on each example.

    Attributes:
        rows: What it is as a task: scores from the encoder and the folder of official files.
        judged: The results by example, of the datasets and measures that two encoders are compared
            by; errors as of a task.
    """

    rows: Task
    judged: Callable[[Any, Path], Sequence[Judged]]

    def __call__(self, encoder: Any, data_dir: Path) -> Sequence[Row]:
        return self.rows(encoder, data_dir)


def judged_p_value(first: Judged, second: Judged, *, samples: int = 1000, seed: int = 1) -> float:
    """Estimate how likely the better of two encoders is not better on other examples of the kind.

    Args:
        first: The results of one encoder.
        second: Those of another on the same examples.
        samples: Number of resamples n, 1 or more.
        seed: Seed of the draws.

    Returns:
        (k + 1) / (n + 1), where in k of n resamples the encoder with the higher score does not have
        it; 1 for equal scores, NaN for fewer than five examples.

    Raises:
        ValueError: The two are of other numbers of examples, or `samples` is less than 1.

    Example:
        >>> right, wrong = np.ones((1, 9)), np.zeros((1, 9))
        >>> every = np.ones((1, 9))
        >>> a, b = (Judged("", "", "accuracy", hits, every) for hits in (right, wrong))
        >>> judged_p_value(a, b, samples=99)
        0.01
    """
    if len(first) != len(second):
        raise ValueError(f"the two are of {len(first):,} and {len(second):,} examples")
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    if len(first) < FEWEST:
        return float("nan")
    difference = first.score - second.score
    if abs(difference) <= 100 * ROUNDING:
        return 1.0
    lost = 0
    for counts in drawn_counts(len(first), samples, seed):
        drawn = first.resampled(counts) - second.resampled(counts)
        lost += int((drawn * np.sign(difference) <= 100 * ROUNDING).sum())
    return p_value_of(lost, samples)
