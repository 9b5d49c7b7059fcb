"""The highest scores seen so far, for many rows of a matrix at once."""

from __future__ import annotations

import numpy as np


class RunningTopK:
    """The `keep` highest scores of every matrix row, with the columns in which they were found.

    Of equal scores the one in the lower column is kept, if columns come in increasing order.

    Args:
        rows: Number of rows of the matrix.
        keep: Number of scores to keep for each row.

    Attributes:
        scores: The scores, highest first, (rows, keep) float32; -inf where none was seen yet.
        columns: Their columns, (rows, keep) int32; -1 where none was seen yet.

    Example:
        >>> best = RunningTopK(rows=2, keep=1)
        >>> found = np.array([0, 0]), np.array([4, 5]), np.array([0.3, 0.8])
        >>> best.add(np.array([1]), *found)  # row 1 has 0.3 in column 4 and 0.8 in column 5
        >>> best.columns.tolist()
        [[-1], [5]]
    """

    def __init__(self, rows: int, keep: int) -> None:
        self.scores = np.full((rows, keep), -np.inf, np.float32)
        self.columns = np.full((rows, keep), -1, np.int32)

    def lowest(self, start: int, stop: int) -> np.ndarray:
        """Return what a score must exceed to be kept, for each of some rows, (stop - start,).

        Args:
            start: Number of the first row, from 0.
            stop: Number of the row after the last.
        """
        return self.scores[start:stop, -1]

    def add(
        self, rows: np.ndarray, place: np.ndarray, column: np.ndarray, scores: np.ndarray
    ) -> None:
        """Take in scores of columns that are higher than all seen before.

        Args:
            rows: Numbers of the rows that have a new score, each once, (changed,).
            place: Which of `rows` each score belongs to, in any order, (new,).
            column: The column of each score, (new,).
            scores: The scores themselves, (new,).
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
        # Stable: of equal scores the earlier column stays before the later one.
        best = np.argsort(-all_scores, axis=1, kind="stable")[:, :keep]
        self.scores[rows] = np.take_along_axis(all_scores, best, 1)
        self.columns[rows] = np.take_along_axis(columns, best, 1)
