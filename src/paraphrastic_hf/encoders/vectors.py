"""Embeddings that an encoder returned: unit length, cosines, checks of shape and numbers."""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.errors import ModelError, counted


def unit_length(vectors: np.ndarray) -> np.ndarray:
    """Vectors, (..., dim), of the same type scaled to length 1; zeros stay zeros."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), vectors.dtype)


def cosine_matrix(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of every vector of one array, (n, dim), with every one of the other, (m, dim), as
    (n, m) from -1 to 1; 0 where either vector is zero."""
    return np.asarray(np.clip(unit_length(first) @ unit_length(second).T, -1, 1))


def pairwise_cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of vector i of one array with vector i of the other, both (n, dim), as (n,) from -1 to
    1; 0 where either vector is zero."""
    cosines = (unit_length(first) * unit_length(second)).sum(-1)
    return np.asarray(np.clip(cosines, -1, 1))  # rounding errors exceed 1


def as_array(vectors: object) -> np.ndarray:
    """Return an array, or a tensor of any type, with or without a gradient, as an array."""
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu().float().numpy()
    return np.asanyarray(vectors)


def checked_vectors(vectors: object, count: int, name: object = None) -> np.ndarray:
    """What the `encode` of any model returned, as an array, (count, dim).

    Args:
        vectors: An array, a tensor, or lists of numbers.
        count: How many texts were given.
        name: Of the model, for the message.

    Raises:
        ModelError: There is not one vector a text, or a number is NaN or infinite.
    """
    array = as_array(vectors)
    if array.ndim != 2 or len(array) != count:
        raise ModelError(
            f"encode must return one vector a text, ({count}, dim), got shape {array.shape}"
        )
    with np.errstate(all="ignore"):  # sums are fast, and finite only where all numbers are
        odd = np.flatnonzero(~np.isfinite(array @ np.ones(array.shape[1], array.dtype)))
    bad = int((~np.isfinite(array[odd])).any(1).sum())
    if bad:
        raise ModelError(
            f"{name or 'encode'} returned NaN or infinity for {bad:,} of {counted(count, 'text')}: "
            "its weights are too large, as after a training that diverged"
        )
    return array
