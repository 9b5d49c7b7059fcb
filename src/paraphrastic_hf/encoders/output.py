from __future__ import annotations

import numpy as np

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


def leading(vectors: np.ndarray, dimension: int | None) -> np.ndarray:
    """Return the first `dimension` dimensions of vectors, (texts, dim), or all if None."""
    if dimension is None:
        return vectors
    if not isinstance(dimension, (int, np.integer)) or isinstance(dimension, bool):
        raise TypeError(f"truncate_dim must be an integer, got {dimension!r}")
    if not 1 <= dimension <= vectors.shape[1]:
        raise ValueError(f"truncate_dim must be from 1 to {vectors.shape[1]}, got {dimension}")
    return np.ascontiguousarray(vectors[:, :dimension])


def quantized(vectors: np.ndarray, precision: str | None) -> np.ndarray:
    """Quantize vectors like sentence-transformers' `quantize_embeddings`.

    Args:
        vectors: (texts, dim) float32.
        precision: `int8` or `uint8`: 255 steps over the range of each dimension in `vectors`.
            `binary` or `ubinary`: one sign bit per dimension, eight to a byte. `float32` or None:
            unchanged.

    Returns:
        (texts, dim), or (texts, dim / 8) for bits.
    """
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
