"""`Table`: the token vectors that an averaging model takes means of, and the tables made from one.

A table is never changed: each `with_` method returns another. How numbers are held in fewer bytes
is in `storage/packing.py`, where a table is read from in `storage/weights.py`, and how texts
become means of its rows in `engine.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
from paraphrastic_hf.errors import ModelError, counted

BLOCK = 4096  # rows that are unpacked at a time where all are gone through


@dataclass(frozen=True, eq=False)
class Table:
    """A row of numbers for each entry of a tokenizer.

    Attributes:
        numbers: (vocab, dim) float32, or packed as `storage/packing.py` describes; contiguous.
        rounding_error: The largest distance of a row from the one that was rounded to it, as a
            share of that one's length; 0 unless `with_precision` has rounded.

    Example:
        >>> table = Table.of(np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.5]], np.float32))
        >>> table.with_dimension(2).with_norm_power(0).rows()
        array([[0. , 0. ],
               [0.6, 0.8]], dtype=float32)
    """

    numbers: np.ndarray
    rounding_error: float = 0.0

    @classmethod
    def of(cls, rows: np.ndarray, name: object = "this encoder") -> Table:
        """A table of given rows, held in half the memory where that loses nothing.

        Args:
            rows: (vocab, dim), any float type; held as float32.
            name: What the rows belong to, for the message.

        Raises:
            ModelError: There are no columns, or a number is NaN, infinite or too large for float32.
        """
        rows = np.asarray(rows)
        if rows.ndim != 2 or not rows.shape[1]:
            raise ModelError(
                f"the table of {name} must be of shape (vocab, dim) with a column, got {rows.shape}"
            )
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(rows, np.float32)
        check_finite(rows, f"the table of {name}")
        return cls(shortened(rows))

    @classmethod
    def of_packed(cls, numbers: np.ndarray, name: object = "this encoder") -> Table:
        """A table of int8 or int4 as it was saved; what it holds counts as exact.

        Raises:
            ModelError: The scale of a row is NaN or infinite.
        """
        check_finite(scales(numbers), f"the table of {name}")
        return cls(np.ascontiguousarray(numbers))

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return width(self.numbers)

    def rows(self, numbers: np.ndarray | slice | None = None) -> np.ndarray:
        """Rows as float32, (rows, dim).

        Args:
            numbers: Which ones; all if None.
        """
        return unpacked(self.numbers if numbers is None else self.numbers[numbers])

    def with_norm_power(self, power: float) -> Table:
        """The rows with their lengths raised to a power, which leaves their directions.

        Args:
            power: 0 makes all rows but those of zeros equally long; 1 changes nothing.

        Raises:
            ModelError: A number has become infinite.
            ValueError: `power` is NaN or infinite.
        """
        if not np.isfinite(power):
            raise ValueError(f"power must be a number, got {power}")
        blocks = (self.rows(slice(i, i + BLOCK)) for i in range(0, len(self.numbers), BLOCK))
        norms = np.concatenate([np.empty(0), *map(row_lengths, blocks)])
        factors = np.where(norms > 0, norms, 1)[:, None] ** (power - 1)
        if has_scales(self.numbers):
            return Table.of_packed(rescaled(self.numbers, factors))
        return Table.of(self.rows() * factors.astype(np.float32))

    def with_precision(self, precision: str) -> Table:
        """The rows rounded to `float32` (none is), `bfloat16`, `int8` or `int4`: `packing.packed`.

        Raises:
            ValueError: `precision` is none of these.
        """
        if holds(self.numbers, precision):
            return self
        rows = self.rows()
        numbers = packed(rows, precision)
        if numbers is rows:
            return Table.of(rows) if has_scales(self.numbers) else self
        return Table(numbers, rounding_error(numbers, rows))

    def with_dimension(self, dimension: int) -> Table:
        """The leading dimensions of every row.

        Args:
            dimension: How many, from 1 to those there are.

        Raises:
            TypeError: `dimension` is no whole number.
            ValueError: `dimension` is out of range.
        """
        if not isinstance(dimension, (int, np.integer)) or isinstance(dimension, bool):
            raise TypeError(f"dimension must be a whole number, got {dimension!r}")
        if not 1 <= dimension <= self.dimension:
            raise ValueError(f"dimension must be from 1 to {self.dimension}, got {dimension}")
        if has_scales(self.numbers):
            return Table.of_packed(narrowed(self.numbers, dimension))
        return Table.of(self.rows()[:, :dimension])


def rounding_error(numbers: np.ndarray, exact: np.ndarray) -> float:
    """How far packed rows are from the exact ones: the largest distance of a row, as a share of its
    length.

    A mean of packed rows is off by no more than this share of the mean of the rows' lengths.

    Args:
        numbers: (vocab, dim), packed or float32.
        exact: (vocab, dim) float32. Where a row is all zeros its distance is taken as it is.
    """
    lengths = row_lengths(exact)
    off = row_lengths(unpacked(numbers).astype(np.float64) - exact)
    return float((off / np.where(lengths > 0, lengths, 1)).max(initial=0))


def row_lengths(rows: np.ndarray) -> np.ndarray:
    """The Euclidean length of each row, (vocab,) float64."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


def check_finite(numbers: np.ndarray, name: str) -> None:
    """Refuse weights with NaN or infinity.

    Args:
        numbers: Any shape; a row is what the first axis counts.
        name: What they are, for the message.

    Raises:
        ModelError: There is one; the message names the first such row.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        total = numbers.sum()
    if np.isfinite(total):
        return
    bad = np.flatnonzero(~np.isfinite(numbers).reshape(len(np.atleast_1d(numbers)), -1).all(1))
    if len(bad):
        raise ModelError(
            f"row {bad[0]} of {name} holds what is no finite number in float32 "
            f"({counted(len(bad), 'row')} "
            "in all); the training has diverged, or the file is damaged"
        )
