"""Arrays of float32 numbers held in fewer bytes, and back.

In two bytes, a number is the upper half of a float32 (bfloat16), kept as uint16. In one byte, it is
an int8, and the last four bytes of its row are the float32 that the row's numbers are multiples of.
The C of the fast path (`_rows.h`) reads these arrays as they are. What they are packed for is the
business of `table.py`.
"""

from __future__ import annotations

import sys

import numpy as np

PRECISIONS = ("float32", "bfloat16", "int8")
SCALE_BYTES = 4  # at the end of a row of int8
LARGEST_BFLOAT16 = np.array(0x7F7F0000, np.uint32).view(np.float32)


def packed(numbers: np.ndarray, precision: str) -> np.ndarray:
    """Round numbers to a precision and pack them.

    Args:
        numbers: (vocab, dim) float32, finite.
        precision: `float32` changes nothing; `bfloat16` keeps 8 binary digits of each number;
            `int8` has 127 steps up and 127 down to the largest absolute value in a row.

    Returns:
        (vocab, dim) float32 or uint16, or (vocab, dim + 4) int8.

    Raises:
        ValueError: `precision` is none of the three.

    Example:
        >>> numbers = np.array([[0.5, -1.27], [0.0, 0.0]], np.float32)
        >>> packed(numbers, "int8")[0, :2], unpacked(packed(numbers, "int8"))[0]
        (array([  50, -127], dtype=int8), array([ 0.5 , -1.27], dtype=float32))
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision == "float32":
        return numbers
    if precision == "bfloat16":
        bits = np.clip(numbers, -LARGEST_BFLOAT16, LARGEST_BFLOAT16).view(np.uint32)
        bits += 0x7FFF + ((bits >> 16) & 1)  # to the nearest, ties to even
        return (bits >> 16).astype(np.uint16)
    most = np.nextafter(np.finfo(np.float32).max / np.float32(127), np.float32(0))
    scale = np.minimum(np.abs(numbers).max(1, initial=0) / np.float32(127), most)[:, None]
    steps = np.rint(numbers / np.where(scale > 0, scale, 1)).clip(-127, 127).astype(np.int8)
    return np.concatenate([steps, scale.view(np.int8)], 1)


def unpacked(numbers: np.ndarray) -> np.ndarray:
    """The float32 numbers, (vocab, dim), of a packed array; one of float32 is returned itself."""
    if numbers.dtype == np.uint16:
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    if numbers.dtype == np.int8:
        scale = np.ascontiguousarray(numbers[:, -SCALE_BYTES:]).view(np.float32)
        return numbers[:, :-SCALE_BYTES] * scale
    return numbers


def width(numbers: np.ndarray) -> int:
    """The number of dimensions of an array, packed or not."""
    return int(numbers.shape[1]) - (SCALE_BYTES if numbers.dtype == np.int8 else 0)


def shortened(numbers: np.ndarray) -> np.ndarray:
    """The same numbers in half the memory, if none has more than eight binary digits.

    Args:
        numbers: (vocab, dim) float32, contiguous.

    Returns:
        (vocab, dim) uint16, as `packed` to bfloat16; or `numbers` itself if that would round one.
    """
    halves = numbers.view(np.uint16).reshape(*numbers.shape, 2)
    upper = int(sys.byteorder == "little")
    return numbers if halves[..., 1 - upper].any() else np.ascontiguousarray(halves[..., upper])
