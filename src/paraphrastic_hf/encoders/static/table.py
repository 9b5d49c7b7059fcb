"""`Table`: token vectors of an averaging model, with transformations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.static.window import Window
from paraphrastic_hf.encoders.storage.packing import (
    has_scales,
    holds,
    narrowed,
    packed,
    rescaled,
    scales,
    shortened,
    unpacked,
    width,
)
from paraphrastic_hf.encoders.vectors import check_dimension
from paraphrastic_hf.errors import ModelError, counted
from paraphrastic_hf.text.ragged import Ragged

BLOCK = 4096  # rows unpacked at a time
TOKENS_AT_A_TIME = 16_384  # bounds the memory for long texts


@dataclass(frozen=True, eq=False)
class Table:
    """Token vectors of an averaging model, one row per tokenizer entry. Immutable."""

    numbers: np.ndarray  # (vocab, dim) float32, or packed as in `storage/packing.py`; contiguous
    rounding_error: float = 0.0  # largest error of a row, relative to its length
    window: Window | None = None  # further arrays of a window encoder

    @classmethod
    def of(cls, rows: np.ndarray, name: object = "this encoder") -> Table:
        """Build a table from rows, (vocab, dim): bfloat16 if lossless, else float32."""
        rows = np.asarray(rows)
        if rows.ndim != 2 or not rows.shape[1]:
            raise ModelError(f"The table of {name} must be (vocab, dim), dim > 0, got {rows.shape}")
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(rows, np.float32)
        check_finite(rows, f"the table of {name}")
        return cls(shortened(rows))

    @classmethod
    def of_packed(cls, numbers: np.ndarray, name: object = "this encoder") -> Table:
        """Build a table from int8 or int4 numbers read from a file. Its `rounding_error` is 0."""
        check_finite(scales(numbers), f"the table of {name}")
        return cls(np.ascontiguousarray(numbers))

    @property
    def dimension(self) -> int:
        return width(self.numbers)

    @property
    def arrays(self) -> Any:
        """Arrays for the C extension: `numbers`, or a pair of `numbers` and the window's arrays."""
        return self.numbers if self.window is None else (self.numbers, self.window.arrays)

    def rows(self, numbers: np.ndarray | slice | None = None) -> np.ndarray:
        """Return the rows with the given indices, or all rows, unpacked, (rows, dim) float32."""
        return unpacked(self.numbers if numbers is None else self.numbers[numbers])

    def with_norm_power(self, power: float) -> Table:
        """Return a table with each row's length raised to a power. Directions do not change."""
        if self.window is not None:
            raise ModelError("with_norm_power requires a plain average, got a window encoder")
        if not np.isfinite(power):
            raise ValueError(f"power must be finite, got {power}")
        blocks = (self.rows(slice(i, i + BLOCK)) for i in range(0, len(self.numbers), BLOCK))
        norms = np.concatenate([np.empty(0), *map(row_lengths, blocks)])
        factors = np.where(norms > 0, norms, 1)[:, None] ** (power - 1)
        if has_scales(self.numbers):
            return Table.of_packed(rescaled(self.numbers, factors))
        return Table.of(self.rows() * factors.astype(np.float32))

    def with_precision(self, precision: str) -> Table:
        """Return a table rounded and packed with `packing.packed`."""
        if holds(self.numbers, precision):
            return self
        rows = self.rows()
        numbers = packed(rows, precision)
        if numbers is rows:
            return replace(self, numbers=Table.of(rows).numbers)
        return Table(numbers, rounding_error(numbers, rows), self.window)

    def with_dimension(self, dimension: int) -> Table:
        """Return a table with the first `dimension` dimensions of every row."""
        check_dimension(dimension, self.dimension)
        if self.window is not None and dimension < self.dimension:
            raise ModelError(
                f"The hidden layer of a window encoder reads all {self.dimension} dimensions. Keep "
                f"them, and encode with truncate_dim={dimension}"
            )
        if has_scales(self.numbers):
            return Table.of_packed(narrowed(self.numbers, dimension))
        return Table.of(self.rows()[:, :dimension])


def rounding_error(numbers: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest error of a packed row, relative to the exact row's length (absolute for
    rows of zeros).
    """
    lengths = row_lengths(exact)
    off = row_lengths(unpacked(numbers).astype(np.float64) - exact)
    return float((off / np.where(lengths > 0, lengths, 1)).max(initial=0))


def row_lengths(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


def check_finite(numbers: np.ndarray, name: str) -> None:
    """Raise a `ModelError` naming the first row, along axis 0, that contains NaN or infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = numbers.sum()
    if np.isfinite(total):
        return
    bad = np.flatnonzero(~np.isfinite(numbers).reshape(len(np.atleast_1d(numbers)), -1).all(1))
    if len(bad):
        raise ModelError(
            f"Row {bad[0]} of {name} contains values that are not finite in float32 "
            f"({counted(len(bad), 'row')} in total). Training diverged or the file is damaged"
        )


def mean_rows(table: Table, texts: Ragged, *, progress: bool = False) -> np.ndarray:
    """Return what the C extension computes, (texts, dim) float32, slowly in numpy."""
    from tqdm.auto import tqdm

    output = np.zeros((len(texts), table.dimension), np.float32)
    for number in tqdm(range(len(texts)), unit=" texts", unit_scale=True, disable=not progress):
        ids = texts[number]
        for start in range(0, len(ids), TOKENS_AT_A_TIME):
            rows = table.rows(ids[start : start + TOKENS_AT_A_TIME])
            output[number] += rows.sum(0, dtype=np.float64) / len(ids)
        if table.window is not None:
            output[number] = table.window.embedding(output[number], ids)
    return output
