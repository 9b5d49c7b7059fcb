"""Vectors that an encoder returned: lengths, cosines, and whether they are what they should be."""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.errors import ModelError


def unit_length(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; zero rows stay zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), vectors.dtype)


def pairwise_cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of row i with row i; 0 where either is zero."""
    return np.asarray((unit_length(first) * unit_length(second)).sum(-1))


def checked_vectors(vectors: object, count: int) -> np.ndarray:
    """Whatever `encode` returned as a float array of `count` rows.

    Raises:
        ModelError: It is no such array, or holds NaN or infinity.
    """
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu().float().numpy()
    array = np.asarray(vectors)
    if array.ndim != 2 or len(array) != count:
        raise ModelError(
            f"encode must return one vector a text, ({count}, dim), got shape {array.shape}"
        )
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array).all(1)).sum())
        raise ModelError(f"encode returned NaN or infinity for {bad} of {count} texts")
    return array
