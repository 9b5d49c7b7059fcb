"""A tile, which is a piece of the matrix of cosines, and the scores in it that are worth keeping.

Only reading a tile in memory order is cheap, so good scores are found by maxima: first the maximum
of each row and column is compared with the scores kept so far; then, in the rows and columns that
have something better, the maximum of each group of 16 scores; and only in groups that have
something better is every score read.
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
    """A piece of the matrix of cosines in float32, computed by numpy."""

    _nothing: Any = -np.inf  # what stands beyond the edges of the matrix
    _numbers: np.ndarray
    _row_maxima: np.ndarray
    _groups: np.ndarray

    def __init__(self) -> None:
        self._numbers = np.empty((0, 0), np.float32)

    @staticmethod
    def threads() -> tuple[int, int]:
        """How many tiles to compute at a time, and with how many threads each; 0 leaves it to BLAS,
        which uses all threads for one product."""
        return 1, 0

    @staticmethod
    def use_threads(count: int) -> None:
        """Let products of the calling thread use `count` threads."""

    def load(self, side: UnitRows, start: int, stop: int) -> Any:
        """Rows `start` to `stop` of a side, unit length, in the type that `multiply` takes."""
        block = np.empty((stop - start, side.dimension), np.float32)
        side.fill(block, start)
        return block

    def multiply(self, rows: Any, columns: Any) -> None:
        """Compute the cosines of some rows and columns, and the maxima by which they are read.

        Both sides are padded to a multiple of the group size.
        """
        shape = tuple(-(-len(side) // GROUP) * GROUP for side in (rows, columns))
        if self._numbers.shape != shape:
            self._numbers = self._room(shape)
        self._numbers[len(rows) :] = self._numbers[:, len(columns) :] = self._nothing
        self._product(rows, columns)
        self._row_maxima = self._numbers[: len(rows)].max(1)
        self._groups = self._numbers.reshape(GROUP, -1, shape[1]).max(0)

    def add_rows(self, best: BestSoFar, start: int, count: int, first_column: int) -> None:
        """Add the scores of this tile that are among the best so far of its rows.

        Args:
            best: The best scores of all rows so far.
            start: The row of the matrix that is the first of the tile.
            count: Rows in the tile.
            first_column: The column of the matrix that is the first of the tile.
        """
        lowest = best.lowest(start, start + count)
        highest, _ = self._bounds(self._row_maxima)
        rows = np.nonzero(highest > lowest)[0]
        if len(rows):
            chosen = self._numbers[rows]
            groups = chosen.reshape(len(rows), GROUP, -1).max(1)
            found = _search(self, groups, rows, lowest[rows], best.scores.shape[1], 1)
            best.add(start + rows, found.place, first_column + found.line, found.scores)

    def add_columns(self, best: BestSoFar, start: int, count: int, first_row: int) -> None:
        """Add the scores of this tile that are among the best so far of its columns.

        The arguments are those of `add_rows`, with rows and columns exchanged.
        """
        lowest = best.lowest(start, start + count)
        groups = self._groups[:, :count]
        highest, _ = self._bounds(groups.max(0))
        columns = np.nonzero(highest > lowest)[0]
        if len(columns):
            chosen = np.ascontiguousarray(groups[:, columns].T)
            found = _search(self, chosen, columns, lowest[columns], best.scores.shape[1], 0)
            best.add(start + columns, found.place, first_row + found.line, found.scores)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The scores at pairs of a row and a column of the tile, float32."""
        return self._numbers[rows, columns]

    def _room(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, np.float32)

    def _product(self, rows: Any, columns: Any) -> None:
        np.matmul(rows, columns.T, out=self._numbers[: len(rows), : len(columns)])

    def _bounds(self, maxima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Upper and lower bounds of maxima, float32; here both are the maxima themselves."""
        return maxima, maxima


class HalfTile(Tile):
    """A piece of the matrix of cosines in bfloat16, computed by torch.

    Torch uses the processor's instructions for bfloat16 where it has them. numpy has no bfloat16,
    so the bits are read as int16: numbers of 0 and more keep their order and stand above all
    negative ones, and their maximum is right. The order of negative numbers is lost, so of a
    negative maximum it is only known that all scores behind it are below 0.
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
    """Scores found in a tile.

    Attributes:
        place: Of each score, which of the rows (or columns) searched it is in.
        line: Of each score, its column (or row) in the tile.
        scores: The scores, float32.
    """

    place: np.ndarray
    line: np.ndarray
    scores: np.ndarray


def _search(
    tile: Tile, maxima: np.ndarray, chosen: np.ndarray, lowest: np.ndarray, keep: int, axis: int
) -> _Found:
    """The scores of some rows or columns that may be among the best so far.

    Args:
        tile: Where to look.
        maxima: The maximum of each group of scores, (chosen, groups); group g of a row holds its
            columns g, g + groups, g + 2 groups and so on.
        chosen: Numbers of the rows (or columns) in the tile.
        lowest: The score that each of them must exceed, (chosen,).
        keep: How many scores of each are wanted; worse ones than these may be left out.
        axis: 1 to search rows, 0 to search columns.
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
