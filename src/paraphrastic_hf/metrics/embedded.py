"""What a scorer holds of texts so that any of them can be compared with any other: here a vector of
each, for SIM as the thesis has it (7.2.1); in `windows.py` vectors of its windows."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.metrics.semantic import sim


class Embedded(Protocol):
    """Some texts, numbered from 0.

    Attributes:
        lengths: The length of each in the unit of the length penalty, (texts,); None where there
            is no penalty.
    """

    lengths: np.ndarray | None

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Give SIM of texts with others, (pairs,), -1 to 1.

        Args:
            own: Numbers of texts, (pairs,), from 0.
            other: The number of the text that each is compared with, (pairs,).
        """

    def grid(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Give SIM of each of some texts with each of others, (own, other), -1 to 1.

        Args:
            own: Numbers of texts, (own,), from 0.
            other: Numbers of texts, (other,).
        """


class SentenceVectors:
    """A vector for each text.

    Args:
        vectors: (texts, dim), any scale.
        lengths: The length of each text, (texts,), where a length penalty is wanted.

    Attributes:
        lengths: The length of each text, (texts,), or None.

    Example:
        >>> texts = SentenceVectors(np.array([[3.0, 4.0], [4.0, 3.0]]))
        >>> texts.sim(np.array([0]), np.array([1]))
        array([0.96])
    """

    def __init__(self, vectors: np.ndarray, lengths: np.ndarray | None = None) -> None:
        self.vectors, self.lengths = vectors, lengths

    @cached_property
    def units(self) -> np.ndarray:
        """The vectors at length 1, (texts, dim) float64; zeros stay zeros."""
        return unit_length(self.vectors.astype(np.float64))

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Give the cosine of texts with others, (pairs,), -1 to 1.

        Args:
            own: Numbers of texts, (pairs,), from 0.
            other: The number of the text that each is compared with, (pairs,).
        """
        return np.asarray(sim(self.vectors[own], self.vectors[other]))

    def grid(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Give the cosine of each of some texts with each of others, (own, other), -1 to 1.

        Args:
            own: Numbers of texts, (own,), from 0.
            other: Numbers of texts, (other,).
        """
        return np.asarray((self.units[own] @ self.units[other].T).clip(-1.0, 1.0))
