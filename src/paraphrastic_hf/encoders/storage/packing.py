"""Packed storage of float32 arrays, also read by the C extension (`_rows.h`).

* bfloat16: the upper half of each float32, as uint16.
* int8: integers times a scale. The scale is a float32 in the last four bytes of each row.
* int4: integers from -7 to 7 times a scale as in int8. The integer plus 8 is stored in half a byte.
  The lower four bits of the bytes contain the first half of a row, the upper bits the second half.
  If the dimension is odd, the upper bits of the last byte are 0.
"""

import sys

import numpy as np

PRECISIONS = ("float32", "bfloat16", "int8", "int4")
SCALE_BYTES = 4  # float32 at the end of each int8 or int4 row
MOST_STEPS, NO_STEPS = 7, 8  # int4: largest multiple, and the code of 0
# Candidates for 7 times the int4 scale, relative to a row's largest absolute value. The candidates
# above 1 represent rows without error that are already multiples of a scale.
REACHES = np.concatenate([np.linspace(0.2, 1, 17), 7 / np.arange(6, 0, -1)]).astype(np.float32)
SCALE_DIGITS = 5  # binary digits of an int4 scale, so that 7 times it is exact in bfloat16
LARGEST_SCALE = np.float32(np.ldexp(18 / 32, 126))  # of int4: 7 times this is still finite
LARGEST_BFLOAT16 = np.array(0x7F7F0000, np.uint32).view(np.float32)


def packed(numbers: np.ndarray, precision: str) -> np.ndarray:
    """Round a token table, (vocab, dim) float32, to a precision and pack it: (vocab, dim) uint16
    for bfloat16, (vocab, dim + 4) int8, or (vocab, dim / 2 + 4) uint8 for int4.

    int8 rounds to multiples of 1/127 of the row's largest absolute value, int4 to -7 to 7 times the
    scale, of five binary digits, that minimizes the row's squared error.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision == "float32":
        return numbers
    if precision == "bfloat16":
        bits = np.clip(numbers, -LARGEST_BFLOAT16, LARGEST_BFLOAT16).view(np.uint32)
        bits += 0x7FFF + ((bits >> 16) & 1)  # to the nearest, ties to even
        return (bits >> 16).astype(np.uint16)
    if precision == "int4":
        return _nibbles(numbers)
    most = np.nextafter(np.finfo(np.float32).max / np.float32(127), np.float32(0))
    scale = np.minimum(np.abs(numbers).max(1, initial=0) / np.float32(127), most)[:, None]
    steps = np.rint(numbers / np.where(scale > 0, scale, 1)).clip(-127, 127).astype(np.int8)
    return np.concatenate([steps, scale.view(np.int8)], 1)


def _nibbles(numbers: np.ndarray) -> np.ndarray:
    largest = np.abs(numbers).max(1, initial=0)[:, None]
    best, error = np.zeros_like(largest), np.full_like(largest, np.inf)
    shares = numbers / np.where(largest > 0, largest, 1)
    for reach in REACHES:
        step = _short(reach / MOST_STEPS * largest) / np.where(largest > 0, largest, 1)
        off = np.square(_steps(shares, step) * step - shares).sum(1, keepdims=True)
        best, error = np.where(off <= error, step, best), np.minimum(off, error)
    codes = (_steps(shares, best) + NO_STEPS).astype(np.uint8)
    return joined(codes, _short(best * largest))


def _short(scale: np.ndarray) -> np.ndarray:
    fraction, exponent = np.frexp(np.minimum(scale, LARGEST_SCALE))
    return np.ldexp(np.rint(fraction * 2**SCALE_DIGITS) / 2**SCALE_DIGITS, exponent)


def _steps(shares: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.rint(shares / np.where(step > 0, step, 1)).clip(-MOST_STEPS, MOST_STEPS)


def joined(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Pack int4 codes (integer + 8), (vocab, dim) uint8, with row scales, (vocab, 1) float32."""
    half = (codes.shape[1] + 1) // 2
    nibbles = codes[:, :half].copy()
    nibbles[:, : codes.shape[1] - half] |= codes[:, half:] << 4
    return np.concatenate([nibbles, np.ascontiguousarray(scale, np.float32).view(np.uint8)], 1)


def unpacked(numbers: np.ndarray) -> np.ndarray:
    """Convert a packed array to float32, (vocab, dim). A float32 array is returned unchanged."""
    if numbers.dtype == np.uint16:
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    if not has_scales(numbers):
        return numbers
    steps = numbers[:, :-SCALE_BYTES]
    if numbers.dtype == np.uint8:
        steps = _codes(numbers).astype(np.int8) - np.int8(NO_STEPS)
    return steps * scales(numbers)


def has_scales(numbers: np.ndarray) -> bool:
    return numbers.dtype in (np.int8, np.uint8)


def holds(numbers: np.ndarray, precision: str) -> bool:
    kinds = {"bfloat16": np.uint16, "int8": np.int8, "int4": np.uint8}
    return numbers.dtype == kinds.get(precision)


def scales(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers[:, -SCALE_BYTES:]).view(np.float32)


def _codes(numbers: np.ndarray) -> np.ndarray:
    steps = numbers[:, :-SCALE_BYTES]
    return np.concatenate([steps & 15, steps >> 4], 1)[:, : width(numbers)]


def narrowed(numbers: np.ndarray, dimension: int) -> np.ndarray:
    """Keep the first `dimension` dimensions of an int8 or int4 array, without rounding again."""
    if numbers.dtype == np.uint8:
        return joined(_codes(numbers)[:, :dimension], scales(numbers))
    return np.concatenate([numbers[:, :dimension], numbers[:, -SCALE_BYTES:]], 1)


def rescaled(numbers: np.ndarray, factors: np.ndarray) -> np.ndarray:
    scale = (scales(numbers) * factors).astype(np.float32).view(numbers.dtype)
    return np.concatenate([numbers[:, :-SCALE_BYTES], scale], 1)


def width(numbers: np.ndarray) -> int:
    columns = int(numbers.shape[1])
    if numbers.dtype == np.uint8:
        half = columns - SCALE_BYTES
        is_odd = len(numbers) > 0 and numbers[0, half - 1] >> 4 == 0
        return 2 * half - int(is_odd)
    return columns - (SCALE_BYTES if numbers.dtype == np.int8 else 0)


def shortened(numbers: np.ndarray) -> np.ndarray:
    """Convert float32 numbers, (vocab, dim), to bfloat16 if that is lossless."""
    halves = numbers.view(np.uint16).reshape(*numbers.shape, 2)
    upper = int(sys.byteorder == "little")
    return numbers if halves[..., 1 - upper].any() else np.ascontiguousarray(halves[..., upper])
