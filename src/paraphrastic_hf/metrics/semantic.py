"""SIM, length penalties and SimiLE of vectors and lengths (thesis, section 7.2.1).

Functions take numpy arrays, or torch tensors of any device. `metrics/scorer.py` applies them to
texts.
"""

import sys
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.metrics.names import PENALTIES as PENALTIES

ALPHA = 0.25  # thesis 7.2.1


def sim(hypotheses: Any, references: Any) -> Any:
    """Return the cosine of each hypothesis with its reference, embeddings (segments, dim) of any
    scale, or 0 if one of the vectors is zero.
    """
    if hypotheses.shape != references.shape:
        raise ValueError(
            "hypotheses and references must have the same shape, got "
            f"{tuple(hypotheses.shape)} and {tuple(references.shape)}"
        )
    xp = _library(hypotheses)
    first, second = (_scaled(xp, side) for side in (hypotheses, references))
    norms = xp.sqrt(_dot(first, first) * _dot(second, second))
    cosines = _dot(first, second) / xp.where(norms > 0, norms, xp.ones_like(norms))
    return xp.clip(cosines, -1.0, 1.0)


def length_penalty(hypotheses: Any, references: Any, kind: str = "both") -> Any:
    """Compute the factor, 0 to 1, that reduces a score if the lengths of hypothesis and reference
    differ, (segments,).

    * `both`: LP = exp(1 - max(|r|, |h|) / min(|r|, |h|)), as in the thesis.
    * `brevity`: exp(1 - |r| / |h|) if the hypothesis is shorter than the reference, else 1, as in
      BLEU.
    * `excess`: LP if the hypothesis is longer than the reference, else 1.
    * `none`: 1.

    It is 0 if only one text is empty.
    """
    xp = _library(hypotheses)
    longer, shorter = xp.maximum(hypotheses, references), xp.minimum(hypotheses, references)
    excess = (
        1.0 * (longer - shorter) / xp.where(shorter > 0, shorter, xp.ones_like(shorter))
    )  # max / min - 1
    penalty = xp.where((shorter == 0) & (longer > 0), xp.zeros_like(excess), xp.exp(-excess))
    counts = {
        "both": hypotheses == hypotheses,
        "brevity": hypotheses < references,
        "excess": hypotheses > references,
        "none": hypotheses != hypotheses,
    }[kind]
    return xp.where(counts, penalty, xp.ones_like(penalty))


def simile(similarity: Any, penalty: Any, alpha: float = ALPHA) -> Any:
    """Compute SimiLE = LP^alpha SIM of each segment, (segments,)."""
    return similarity * penalty**alpha


def _library(array: Any) -> Any:
    torch = sys.modules.get("torch")  # an array cannot be a tensor before torch is imported
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def _scaled(xp: Any, vectors: Any) -> Any:
    """Divide float64 vectors by their largest value, so that squares neither overflow nor
    underflow. Squares of float32 vectors are computed in float64.
    """
    if vectors.dtype != xp.float64:
        return vectors
    largest = xp.abs(vectors).max(-1)
    largest = (largest if xp is np else largest.values)[:, None]
    return vectors / xp.where(largest > 0, largest, xp.ones_like(largest))


def _dot(first: Any, second: Any) -> Any:
    if _library(first) is np:
        return np.einsum("ij,ij->i", first, second, dtype=np.float64)
    if first.device.type == "mps":  # has no double precision
        return (first.float() * second.float()).sum(-1)
    return (first.double() * second.double()).sum(-1)


class Embedded(Protocol):
    """Embedded texts to compare by index. `lengths`, (texts,), is None without a penalty."""

    lengths: np.ndarray | None

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return SIM, (pairs,), of text own[i] with text other[i], -1 to 1."""

    def grid(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return SIM, (own, other), of every text in `own` with every text in `other`, -1 to 1."""


class SentenceVectors:
    """Texts embedded as one vector each, (texts, dim), any scale, compared by cosine."""

    def __init__(self, vectors: np.ndarray, lengths: np.ndarray | None = None) -> None:
        self.vectors, self.lengths = vectors, lengths

    @cached_property
    def units(self) -> np.ndarray:
        """Vectors scaled to length 1, (texts, dim) float64. Zero vectors stay zero."""
        return unit_length(self.vectors.astype(np.float64))

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray(sim(self.vectors[own], self.vectors[other]))

    def grid(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray((self.units[own] @ self.units[other].T).clip(-1.0, 1.0))
