"""Vectors: cosines, checks, and the output formats of `encode` and `encode_arrow`."""

from collections.abc import Collection

import numpy as np

from paraphrastic_hf.encoders.storage.packing import SCALE_BYTES, packed
from paraphrastic_hf.errors import ModelError, counted

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
ARROW_TYPES = ("float32", "float16", "int8")


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


def check_dtype(dtype: object, known: Collection[str] = ARROW_TYPES) -> None:
    """Raise an error unless `dtype` is the name of a known type."""
    if dtype not in known:
        raise ValueError(f"dtype must be one of {', '.join(known)}, got {dtype!r}")


def check_dimension(dimension: object, most: int, option: str = "dimension") -> None:
    """Raise an error unless `dimension` is an integer from 1 to `most`."""
    if not isinstance(dimension, (int, np.integer)) or isinstance(dimension, bool):
        raise TypeError(f"{option} must be an integer, got {dimension!r}")
    if not 1 <= dimension <= most:
        raise ValueError(f"{option} must be from 1 to {most}, got {dimension}")


def leading(vectors: np.ndarray, dimension: int | None) -> np.ndarray:
    """Return the first `dimension` dimensions of vectors, (texts, dim), or all if None."""
    if dimension is None:
        return vectors
    check_dimension(dimension, vectors.shape[1], "truncate_dim")
    return np.ascontiguousarray(vectors[:, :dimension])


def quantized(vectors: np.ndarray, precision: str | None) -> np.ndarray:
    """Quantize vectors, (texts, dim) float32, like sentence-transformers' `quantize_embeddings`."""
    if precision is None or precision == "float32":
        return vectors
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if len(vectors) == 1:
        raise ValueError(
            f"precision {precision} requires several vectors to find the range of each dimension. "
            "Encode more texts together, or use float32"
        )
    lowest = vectors.min(0, initial=np.inf)
    steps = (vectors.max(0, initial=-np.inf) - lowest) / 255
    numbers = np.clip(np.floor((vectors - lowest) / np.where(steps > 0, steps, 1)), 0, 255)
    return numbers.astype(np.uint8) if precision == "uint8" else (numbers - 128).astype(np.int8)


def rounded(vectors: np.ndarray, dtype: str) -> np.ndarray:
    """Convert float32 vectors, (texts, dim), to one of `ARROW_TYPES`. `int8` rounds each vector to
    multiples of 1/127 of its largest absolute value and drops this scale.
    """
    if dtype == "int8":
        return packed(vectors, dtype)[:, :-SCALE_BYTES]
    with np.errstate(over="ignore"):
        numbers = vectors.astype(dtype, copy=False)
    if not np.isfinite(numbers).all():
        raise ValueError("an embedding is too large for float16. Use float32")
    return numbers
