"""What an encoder did on each example of a dataset, where its score is an accuracy or an F1: two
encoders are then compared example by example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.evaluation.suite import Row, Task
from paraphrastic_hf.metrics.permutation import paired_p_value


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
        return float(_score_of(self._rows.sum(0)))

    @property
    def _rows(self) -> np.ndarray:
        """What the score is computed from, (examples, 2 * parts)."""
        return np.concatenate([self.gained, self.possible]).T


def _score_of(sums: np.ndarray) -> np.ndarray:
    """The score of sums over examples of `Judged._rows`; 0 in a part with nothing to gain."""
    gained, possible = np.split(sums.astype(np.float64), 2, axis=-1)
    shares = np.divide(gained, possible, out=np.zeros_like(gained), where=possible > 0)
    return np.asarray(100 * shares.mean(-1))


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
    """Compute how likely two equally good encoders differ at least as much as these two do.

    The test is the paired permutation test of `metrics/permutation.py`, which exchanges what the
    two did on an example.

    Args:
        first: The results of one encoder.
        second: Those of another on the same examples.
        samples: Number of exchanges to draw for more than 20 examples, 1 or more.
        seed: Seed of the draws.

    Returns:
        The two-sided p-value, above 0, at most 1.

    Raises:
        ValueError: The two are of other numbers of examples, or `samples` is less than 1.

    Example:
        >>> right, wrong = np.ones((1, 9)), np.zeros((1, 9))
        >>> every = np.ones((1, 9))
        >>> a, b = (Judged("", "", "accuracy", hits, every) for hits in (right, wrong))
        >>> judged_p_value(a, b)
        0.00390625
    """
    return paired_p_value(first._rows, second._rows, _score_of, samples=samples, seed=seed)
