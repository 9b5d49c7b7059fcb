"""Tiles of a matrix of cosines, and the search for the highest scores of rows and columns.

Reading memory in order is fastest. The search therefore compares maxima first of whole rows and
columns, then of groups of 16 scores. It reads single scores only in the best groups.
"""

from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.mining.vectors import UnitRows


class RunningTopK:
    """The `keep` highest scores of every matrix row, with their columns. Among equal scores the
    lowest column is kept, if columns are added in increasing order.
    """

    def __init__(self, rows: int, keep: int) -> None:
        self.scores = np.full((rows, keep), -np.inf, np.float32)  # in descending order
        self.columns = np.full((rows, keep), -1, np.int32)

    def lowest(self, start: int, stop: int) -> np.ndarray:
        """Return the lowest kept score of rows `start` to `stop`, (rows,)."""
        return self.scores[start:stop, -1]

    def add(
        self, rows: np.ndarray, place: np.ndarray, column: np.ndarray, scores: np.ndarray
    ) -> None:
        """Add scores of `rows` (distinct), (changed,), given by index into `rows`, column and
        score, (new,). Their columns must be higher than all columns added before.
        """
        keep = self.scores.shape[1]
        order = np.lexsort((column, place))
        place, column, scores = place[order], column[order], scores[order]
        counts = np.bincount(place, minlength=len(rows))
        nth = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (len(rows), keep + int(counts.max(initial=0)))
        all_scores, columns = np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
        all_scores[:, :keep], columns[:, :keep] = self.scores[rows], self.columns[rows]
        all_scores[place, keep + nth] = scores
        columns[place, keep + nth] = column
        # A stable sort keeps equal scores in the order of their columns.
        best = np.argsort(-all_scores, axis=1, kind="stable")[:, :keep]
        self.scores[rows] = np.take_along_axis(all_scores, best, 1)
        self.columns[rows] = np.take_along_axis(columns, best, 1)


TILE = 2048  # height and width of a tile: 16 MB of float32, which fits in a cache
GROUP = 16
PRECISIONS = ("float32", "bfloat16")
MINUS_INFINITY = -128  # bits of bfloat16 -inf, as int16
MOST_WORKERS = 4


class Tile:
    """A piece of the matrix of cosines in float32, computed by numpy's BLAS."""

    _nothing: Any = -np.inf  # fills the groups of 16 beyond the edges of the matrix
    _numbers: np.ndarray
    _row_maxima: np.ndarray
    _groups: np.ndarray

    def __init__(self) -> None:
        self._numbers = np.empty((0, 0), np.float32)

    @staticmethod
    def threads() -> tuple[int, int]:
        """Return the number of tiles to compute at a time, and the number of threads per tile."""
        return 1, 0  # BLAS uses all of its threads for one tile

    @staticmethod
    def use_threads(count: int) -> None:
        """Set the number of threads for products in the calling thread. Does nothing for BLAS."""

    def load(self, side: UnitRows, start: int, stop: int) -> Any:
        """Read vectors `start` to `stop` into memory, in the number format of the products."""
        block = np.empty((stop - start, side.dimension), np.float32)
        side.fill(block, start)
        return block

    def multiply(self, rows: Any, columns: Any) -> None:
        """Compute the cosines of vectors from `load`, (rows, dim), and their maxima."""
        shape = tuple(-(-len(side) // GROUP) * GROUP for side in (rows, columns))
        if self._numbers.shape != shape:
            self._numbers = self._room(shape)
        self._numbers[len(rows) :] = self._numbers[:, len(columns) :] = self._nothing
        self._product(rows, columns)
        self._row_maxima = self._numbers[: len(rows)].max(1)
        self._groups = self._numbers.reshape(GROUP, -1, shape[1]).max(0)

    def add_rows(self, best: RunningTopK, start: int, count: int, first_column: int) -> None:
        """Add to `best` every score that may be among the highest of its row."""
        lowest = best.lowest(start, start + count)
        highest, _ = self._bounds(self._row_maxima)
        rows = np.nonzero(highest > lowest)[0]
        if len(rows):
            chosen = self._numbers[rows]
            groups = chosen.reshape(len(rows), GROUP, -1).max(1)
            found = _search(self, groups, rows, lowest[rows], best.scores.shape[1], 1)
            best.add(start + rows, found.place, first_column + found.line, found.scores)

    def add_columns(self, best: RunningTopK, start: int, count: int, first_row: int) -> None:
        """Add to `best` every score that may be among the highest of its column."""
        lowest = best.lowest(start, start + count)
        groups = self._groups[:, :count]
        highest, _ = self._bounds(groups.max(0))
        columns = np.nonzero(highest > lowest)[0]
        if len(columns):
            chosen = np.ascontiguousarray(groups[:, columns].T)
            found = _search(self, chosen, columns, lowest[columns], best.scores.shape[1], 0)
            best.add(start + columns, found.place, first_row + found.line, found.scores)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return scores of the tile as float32, in the broadcast shape of the arguments."""
        return self._numbers[rows, columns]

    def _room(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, np.float32)

    def _product(self, rows: Any, columns: Any) -> None:
        np.matmul(rows, columns.T, out=self._numbers[: len(rows), : len(columns)])

    def _bounds(self, maxima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return upper and lower bounds of the exact maxima, as two float32 arrays."""
        return maxima, maxima


class HalfTile(Tile):
    """A piece of the matrix of cosines in bfloat16, computed by torch.

    numpy finds the maxima by comparing the bits as int16. This order is correct for non-negative
    numbers, which are above all negative ones. Of a negative maximum only the sign is known.
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
    """Scores, their index in `chosen`, and their position in that row or column, (found,)."""

    place: np.ndarray
    line: np.ndarray
    scores: np.ndarray


def _search(
    tile: Tile, maxima: np.ndarray, chosen: np.ndarray, lowest: np.ndarray, keep: int, axis: int
) -> _Found:
    """Find scores above `lowest` and among the `keep` highest, in the `chosen` rows (axis 1) or
    columns (axis 0).

    `maxima`, (chosen, groups), has the highest score of each group: group g has the scores at
    positions g, g + groups, g + 2 groups and so on.
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
    return (np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
