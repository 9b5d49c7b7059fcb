"""SIM, the length penalties and SimiLE over vectors and lengths (thesis, section 7.2.1).

Plain functions, element by element, with no model and no text in sight: numpy arrays in, numpy
arrays out; torch tensors in, on any device, torch tensors out. `metrics/scorer.py` goes from
strings to these.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

ALPHA = 0.25  # thesis 7.2.1
PENALTIES = ("both", "brevity", "excess", "none")


def sim(hypotheses: Any, references: Any) -> Any:
    """Cosine of row i with row i; 0 where either is zero.

    Args:
        hypotheses: Sentence embeddings, (segments, dim), any scale.
        references: Likewise.

    Returns:
        (segments,), from -1 to 1.

    Raises:
        ValueError: The two shapes differ.

    Example:
        >>> sim(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[4.0, 3.0], [1.0, 0.0]]))
        array([0.96, 0.  ])
    """
    if hypotheses.shape != references.shape:
        raise ValueError(
            f"hypotheses and references must have one shape, got {tuple(hypotheses.shape)} and "
            f"{tuple(references.shape)}"
        )
    xp = _library(hypotheses)
    first, second = (_scaled(xp, side) for side in (hypotheses, references))
    norms = xp.sqrt(_dot(first, first) * _dot(second, second))
    cosines = _dot(first, second) / xp.where(norms > 0, norms, xp.ones_like(norms))
    return xp.clip(cosines, -1.0, 1.0)


def length_penalty(hypotheses: Any, references: Any, kind: str = "both") -> Any:
    """How much a hypothesis is marked down for its length.

    exp(1 - max(|r|, |h|) / min(|r|, |h|)) for `both`, the thesis's LP: any difference counts.
    `brevity` is BLEU's exp(1 - |r| / |h|) where the hypothesis is the shorter, else 1; `excess`
    the same where it is the longer; `none` is 1.

    Args:
        hypotheses: Lengths, (segments,), in any unit.
        references: Likewise.
        kind: One of the four.

    Returns:
        (segments,) floats, 0 to 1: 1 for equal lengths; 0 where one side alone is empty.

    Raises:
        ValueError: An unknown kind, or a negative length.

    Example:
        >>> length_penalty(np.array([4, 2, 0]), np.array([4, 4, 4])).round(3)
        array([1.   , 0.368, 0.   ])
    """
    if kind not in PENALTIES:
        raise ValueError(f"penalty must be one of {', '.join(PENALTIES)}, got {kind!r}")
    xp = _library(hypotheses)
    if (hypotheses < 0).any() or (references < 0).any():
        raise ValueError("a length is negative")
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
    """SimiLE = LP^alpha SIM.

    Args:
        similarity: SIM, (segments,).
        penalty: LP, (segments,), 0 to 1.
        alpha: Weight of the length, 0 and more; the thesis fixes 0.25, and 0 gives SIM.

    Raises:
        ValueError: `alpha` is negative or no number.

    Example:
        >>> simile(np.array([0.8]), np.array([1.0]))
        array([0.8])
    """
    if not alpha >= 0:
        raise ValueError(f"alpha must be 0 or more, got {alpha}")
    return similarity * penalty**alpha


def _library(array: Any) -> Any:
    """torch for a tensor, else numpy."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else np


def _scaled(xp: Any, vectors: Any) -> Any:
    """Vectors of double precision scaled by their largest number, so that no square over- or
    underflows; float32 in double precision has room enough."""
    if vectors.dtype != xp.float64:
        return vectors
    largest = xp.abs(vectors).max(-1)
    largest = (largest if xp is np else largest.values)[:, None]
    return vectors / xp.where(largest > 0, largest, xp.ones_like(largest))


def _dot(first: Any, second: Any) -> Any:
    """Row by row, in double precision."""
    if _library(first) is np:
        return np.einsum("ij,ij->i", first, second, dtype=np.float64)
    if first.device.type == "mps":  # has no double precision
        return (first.float() * second.float()).sum(-1)
    return (first.double() * second.double()).sum(-1)
