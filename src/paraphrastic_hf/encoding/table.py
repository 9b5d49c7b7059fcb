"""The table of an averaging model as the fast path reads it: float32, or packed in fewer bytes.

Packed in two bytes, a number is the upper half of a float32 (bfloat16), kept as uint16. Packed in
one, it is an int8, and the last four bytes of its row are the float32 it is a multiple of.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from paraphrastic_hf.errors import ModelError

PRECISIONS = ("float32", "bfloat16", "int8")
SCALE_BYTES = 4  # at the end of a row of int8
LARGEST_HALF = np.array(0x7F7F0000, np.uint32).view(np.float32)  # that bfloat16 has


def read_table(directory: Path) -> np.ndarray | None:
    """The table of an averaging model's directory, (vocab, dim) float32, without torch.

    Returns:
        None where the directory holds another kind of model, or needs torch's loader to say more.
    """
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "paraphrastic-averaging":
            return None
        with safe_open(directory / "model.safetensors", framework="numpy") as tensors:
            table = tensors.get_tensor("embedding.weight")
    except (OSError, ValueError, AttributeError, TypeError, SafetensorError):
        return None  # load_model says what is wrong
    if table.shape != (config.get("vocab_size"), config.get("hidden_size")):
        return None
    return np.ascontiguousarray(table, np.float32)


def packed(table: np.ndarray, precision: str) -> np.ndarray:
    """The table with its numbers rounded to a precision, and packed.

    Args:
        table: (vocab, dim) float32, finite.
        precision: `float32`, nothing is done; `bfloat16`, 8 binary digits of each number; `int8`,
            127 steps up and down to the largest number of a row.

    Raises:
        ValueError: `precision` is none of these.

    Example:
        >>> rows = np.array([[0.5, -1.27], [0.0, 0.0]], np.float32)
        >>> packed(rows, "int8")[0, :2], unpacked(packed(rows, "int8"))[0]
        (array([  50, -127], dtype=int8), array([ 0.5 , -1.27], dtype=float32))
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision == "float32":
        return table
    if precision == "bfloat16":
        bits = np.clip(table, -LARGEST_HALF, LARGEST_HALF).view(np.uint32)
        bits += 0x7FFF + ((bits >> 16) & 1)  # to the nearest, ties to even
        return (bits >> 16).astype(np.uint16)
    most = np.nextafter(np.finfo(np.float32).max / np.float32(127), np.float32(0))
    scale = np.minimum(np.abs(table).max(1, initial=0) / np.float32(127), most)[:, None]
    steps = np.rint(table / np.where(scale > 0, scale, 1)).clip(-127, 127).astype(np.int8)
    return np.concatenate([steps, scale.view(np.int8)], 1)


def unpacked(table: np.ndarray) -> np.ndarray:
    """The float32 numbers of a packed table, (vocab, dim); another is given back."""
    if table.dtype == np.uint16:
        return (table.astype(np.uint32) << 16).view(np.float32)
    if table.dtype == np.int8:
        scale = np.ascontiguousarray(table[:, -SCALE_BYTES:]).view(np.float32)
        return table[:, :-SCALE_BYTES] * scale
    return table


def width(table: np.ndarray) -> int:
    """Dimensions of a table, packed or not."""
    return int(table.shape[1]) - (SCALE_BYTES if table.dtype == np.int8 else 0)


def shortened(table: np.ndarray) -> np.ndarray:
    """The same numbers in half the memory, where they have eight binary digits at most.

    Returns:
        As `packed` to bfloat16; or `table` itself.
    """
    parts = table.view(np.uint16).reshape(*table.shape, 2)
    upper = int(sys.byteorder == "little")
    return table if parts[..., 1 - upper].any() else np.ascontiguousarray(parts[..., upper])


def rounding_error(table: np.ndarray, exact: np.ndarray) -> float:
    """How far a packed table's rows are from the exact ones: the largest distance of a row, as a
    share of its length. A mean of rows is off by no more of the mean of their lengths."""
    lengths = row_lengths(exact)
    off = row_lengths(unpacked(table).astype(np.float64) - exact)
    return float((off / np.where(lengths > 0, lengths, 1)).max(initial=0))


def row_lengths(table: np.ndarray) -> np.ndarray:
    """Euclidean lengths of rows, (rows,) float64."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64)))


def check_finite(table: np.ndarray, name: object) -> None:
    """Refuse a table with NaN or infinity.

    Raises:
        ModelError: It has; the first such row is named.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        total = table.sum()
    if not np.isfinite(total):
        bad = np.flatnonzero(~np.isfinite(table).all(1))
        if len(bad):
            raise ModelError(
                f"row {bad[0]} of the table of {name} holds what is no finite number "
                f"({len(bad)} rows in all); the training has diverged, or the file is damaged"
            )
