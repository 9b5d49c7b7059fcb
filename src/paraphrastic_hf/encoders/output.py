"""What `encode` returns besides plain vectors: leading dimensions, unit length, numbers of fewer
bytes, tensors.

The names and the order of these steps are those of sentence-transformers, so that its functions
find in a `SentenceEncoder` what they know. Nothing here knows texts or models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


def leading(vectors: np.ndarray, dimension: int | None) -> np.ndarray:
    """The leading dimensions of vectors.

    Args:
        vectors: (texts, dim).
        dimension: How many are kept, from 1 to dim; None for all.

    Raises:
        TypeError: `dimension` is no whole number.
        ValueError: `dimension` is out of range.
    """
    if dimension is None:
        return vectors
    if not isinstance(dimension, (int, np.integer)) or isinstance(dimension, bool):
        raise TypeError(f"truncate_dim must be a whole number, got {dimension!r}")
    if not 1 <= dimension <= vectors.shape[1]:
        raise ValueError(f"truncate_dim must be from 1 to {vectors.shape[1]}, got {dimension}")
    return np.ascontiguousarray(vectors[:, :dimension])


def quantized(vectors: np.ndarray, precision: str | None) -> np.ndarray:
    """Vectors in fewer bytes, as sentence-transformers' `quantize_embeddings` has them.

    Args:
        vectors: (texts, dim) float32.
        precision: `float32` or None changes nothing; `int8` and `uint8` divide the range of each
            dimension among these vectors into 255 steps; `binary` and `ubinary` keep one bit a
            number, whether it is positive, eight to a byte.

    Returns:
        (texts, dim), or of bits (texts, dim / 8).

    Raises:
        ValueError: `precision` is none of these, or a single vector has no range to divide.

    Example:
        >>> quantized(np.array([[0, 255], [255, 0]], np.float32), "int8")
        array([[-128,  127],
               [ 127, -128]], dtype=int8)
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
            f"precision {precision} divides the range of several vectors, and there is one: "
            "encode more texts together, or leave precision out"
        )
    lowest = vectors.min(0, initial=np.inf)
    steps = (vectors.max(0, initial=-np.inf) - lowest) / 255
    numbers = np.clip(np.floor((vectors - lowest) / np.where(steps > 0, steps, 1)), 0, 255)
    return numbers.astype(np.uint8) if precision == "uint8" else (numbers - 128).astype(np.int8)


def format_embeddings(
    vectors: np.ndarray,
    *,
    normalize_embeddings: bool,
    truncate_dim: int | None,
    precision: str | None,
    as_tensor: bool,
    as_array: bool,
    device: Any,
) -> Any:
    """Vectors in the form that a caller of `encode` asks for.

    Args:
        vectors: (texts, dim) float32.
        normalize_embeddings: Whether to scale them to unit length, after the cut.
        truncate_dim: Leading dimensions to keep; None for all.
        precision: As `quantized` takes it.
        as_tensor: Whether to return one tensor.
        as_array: Whether to return one array; if neither, a list of tensors.
        device: Where tensors go; None for the CPU.
    """
    vectors = leading(vectors, truncate_dim)
    vectors = quantized(unit_length(vectors) if normalize_embeddings else vectors, precision)
    if as_array and not as_tensor:
        return vectors
    import torch

    tensor = torch.from_numpy(vectors).to(device or "cpu")
    return tensor if as_tensor else list(tensor)
