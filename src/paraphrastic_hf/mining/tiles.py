"""A piece of the matrix of cosines, and what in it is worth keeping.

Reading a tile costs little only if it is read in order, so the good scores are found by maxima:
first of whole rows and columns, then, where those have something new, of groups of 16, and only in
such groups score by score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.mining.best import BestSoFar
from paraphrastic_hf.mining.vectors import UnitRows

GROUP = 16
PRECISIONS = ("float32", "bfloat16")
MINUS_INFINITY = -128  # the bits of bfloat16's, as int16
MOST_WORKERS = 4


class Tile:
    """A piece of the matrix in float32, by numpy's BLAS."""

    _nothing: Any = -np.inf  # what stands beyond the edges of the matrix
    _numbers: np.ndarray
    _row_maxima: np.ndarray
    _groups: np.ndarray

    def __init__(self) -> None:
        self._numbers = np.empty((0, 0), np.float32)

    @staticmethod
    def threads() -> tuple[int, int]:
        """Tiles worth making at a time, and threads for each: BLAS uses all it has for one."""
        return 1, 0

    @staticmethod
    def use_threads(count: int) -> None:
        """Have the calling thread compute with so many."""

    def load(self, side: UnitRows, start: int, stop: int) -> Any:
        """Rows ready to be multiplied."""
        block = np.empty((stop - start, side.dimension), np.float32)
        side.fill(block, start)
        return block

    def multiply(self, rows: Any, columns: Any) -> None:
        """Make the piece, (rows, columns), in whole groups, and the maxima it is read by."""
        shape = tuple(-(-len(side) // GROUP) * GROUP for side in (rows, columns))
        if self._numbers.shape != shape:
            self._numbers = self._room(shape)
        self._numbers[len(rows) :] = self._numbers[:, len(columns) :] = self._nothing
        self._product(rows, columns)
        self._row_maxima = self._numbers[: len(rows)].max(1)
        self._groups = self._numbers.reshape(GROUP, -1, shape[1]).max(0)

    def add_rows(self, best: BestSoFar, start: int, count: int, first_column: int) -> None:
        """Let `best` keep what is new to the rows from `start` on."""
        lowest = best.lowest(start, start + count)
        highest, _ = self._bounds(self._row_maxima)
        rows = np.nonzero(highest > lowest)[0]
        if len(rows):
            chosen = self._numbers[rows]
            groups = chosen.reshape(len(rows), GROUP, -1).max(1)
            found = _search(self, groups, rows, lowest[rows], best.scores.shape[1], 1)
            best.add(start + rows, found.place, first_column + found.line, found.scores)

    def add_columns(self, best: BestSoFar, start: int, count: int, first_row: int) -> None:
        """The same for columns."""
        lowest = best.lowest(start, start + count)
        groups = self._groups[:, :count]
        highest, _ = self._bounds(groups.max(0))
        columns = np.nonzero(highest > lowest)[0]
        if len(columns):
            chosen = np.ascontiguousarray(groups[:, columns].T)
            found = _search(self, chosen, columns, lowest[columns], best.scores.shape[1], 0)
            best.add(start + columns, found.place, first_row + found.line, found.scores)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Scores, float32."""
        return self._numbers[rows, columns]

    def _room(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, np.float32)

    def _product(self, rows: Any, columns: Any) -> None:
        np.matmul(rows, columns.T, out=self._numbers[: len(rows), : len(columns)])

    def _bounds(self, maxima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What maxima of `_numbers` are at most and at least, float32."""
        return maxima, maxima


class HalfTile(Tile):
    """In bfloat16, by torch, whose products use the processor's own where it has them.

    Read as int16, numbers that are not negative keep their order and come after the negative ones,
    so numpy finds maxima at full speed; a negative maximum says only that it is one.
    """

    _nothing = MINUS_INFINITY

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._tensor: Any = None
        self._numbers = np.empty((0, 0), np.int16)

    @staticmethod
    def threads() -> tuple[int, int]:
        import torch

        number = torch.get_num_threads()
        workers = min(number, MOST_WORKERS)
        return workers, number // workers

    @staticmethod
    def use_threads(count: int) -> None:
        import torch

        torch.set_num_threads(count)

    def load(self, side: UnitRows, start: int, stop: int) -> Any:
        block = self._torch.empty((stop - start, side.dimension), dtype=self._torch.bfloat16)
        for begin in range(start, stop, 4096):
            end = min(begin + 4096, stop)
            rows = self._torch.from_numpy(side.take(slice(begin, end)))
            block[begin - start : end - start] = rows
        return block

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return _as_float(self._numbers[rows, columns])

    def _room(self, shape: tuple[int, ...]) -> np.ndarray:
        self._tensor = self._torch.empty(shape, dtype=self._torch.bfloat16)
        return np.asarray(self._tensor.view(self._torch.int16).numpy())

    def _product(self, rows: Any, columns: Any) -> None:
        out = self._tensor[: len(rows), : len(columns)]
        if out.is_contiguous():
            self._torch.mm(rows, columns.T, out=out)
        else:
            out.copy_(rows @ columns.T)

    def _bounds(self, maxima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = _as_float(maxima)
        at_least = np.where(maxima < 0, np.float32(-np.inf), value)
        return np.where(maxima < 0, np.float32(0), value), at_least


class _Found(NamedTuple):
    """Scores, each with its place among the rows asked for and its line across them."""

    place: np.ndarray
    line: np.ndarray
    scores: np.ndarray


def _search(
    tile: Tile, maxima: np.ndarray, chosen: np.ndarray, lowest: np.ndarray, keep: int, axis: int
) -> _Found:
    """Scores above `lowest`, and no worse than the `keep` best of the tile, in some rows (axis 1)
    or columns (axis 0).

    Args:
        maxima: Of the groups of each, (chosen, groups); group g has the lines g, g + groups, ...
    """
    groups = maxima.shape[1]
    at_most, at_least = tile._bounds(maxima)
    if groups > keep and (at_most > lowest[:, None]).sum() > 2 * keep * len(chosen):
        bound = np.partition(at_least, groups - keep, axis=1)[:, groups - keep]
        lowest = np.maximum(lowest, np.nextafter(bound, np.float32(-np.inf)))
    place, group = np.nonzero(at_most > lowest[:, None])
    line = group[:, None] + groups * np.arange(GROUP)
    across = np.broadcast_to(chosen[place][:, None], line.shape)
    scores = tile.at(across, line) if axis == 1 else tile.at(line, across)
    is_good = scores > lowest[place][:, None]
    return _Found(
        np.broadcast_to(place[:, None], line.shape)[is_good], line[is_good], scores[is_good]
    )


def _as_float(bits: np.ndarray) -> np.ndarray:
    """bfloat16 to float32: the missing digits are zeros."""
    return (np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
