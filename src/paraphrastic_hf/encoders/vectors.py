import numpy as np

from paraphrastic_hf.errors import ModelError, counted


def unit_length(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors, (..., dim), to length 1. Zero vectors stay zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), vectors.dtype)


def cosine_matrix(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return cosines, (n, m), of vectors, (n, dim) and (m, dim). A zero vector has cosine 0."""
    return np.asarray(np.clip(unit_length(first) @ unit_length(second).T, -1, 1))


def pairwise_cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine, (n,), of each pair of rows, (n, dim). A zero vector has cosine 0."""
    cosines = (unit_length(first) * unit_length(second)).sum(-1)
    return np.asarray(np.clip(cosines, -1, 1))  # rounding may exceed 1


def as_array(vectors: object) -> np.ndarray:
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu().float().numpy()
    return np.asanyarray(vectors)


def checked_vectors(vectors: object, count: int, name: object = None) -> np.ndarray:
    """Return the output of `encode` as an array, (count, dim), if all its values are finite."""
    array = as_array(vectors)
    if array.ndim != 2 or len(array) != count:
        raise ModelError(f"`encode` must return shape ({count}, dim), got {array.shape}")
    with np.errstate(all="ignore"):  # a sum is fast, and finite only if all values are
        odd = np.flatnonzero(~np.isfinite(array @ np.ones(array.shape[1], array.dtype)))
    bad = int((~np.isfinite(array[odd])).any(1).sum())
    if bad:
        raise ModelError(
            f"{name or 'encode'} returned NaN or infinity for {bad:,} of "
            f"{counted(count, 'text')}. Its weights are too large, probably because training "
            "diverged"
        )
    return array
