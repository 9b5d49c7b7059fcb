"""The best of what has been seen so far, for many rows at once."""

from __future__ import annotations

import numpy as np

DENSE = 4  # times as many hits as are kept: narrow them down before sorting


class BestSoFar:
    """The `keep` highest scores of every row with the columns they were in.

    Of equal scores the lower column is kept, where columns come in increasing order.

    Attributes:
        scores: (rows, keep) float32, falling; -inf where there is none yet.
        columns: (rows, keep) int32; -1 where there is none yet.
    """

    def __init__(self, rows: int, keep: int) -> None:
        self.scores = np.full((rows, keep), -np.inf, np.float32)
        self.columns = np.full((rows, keep), -1, np.int32)

    def could_enter(self, start: int, highest: np.ndarray) -> np.ndarray:
        """Which of the rows from `start` on have something new, given a block's row maxima."""
        return np.nonzero(highest > self.scores[start : start + len(highest), -1])[0]

    def add(self, rows: np.ndarray, block: np.ndarray, first_column: int) -> None:
        """Take in scores, (len(rows), width), of the columns from `first_column` on."""
        keep = self.scores.shape[1]
        lowest = self.scores[rows, -1]
        place, column = np.nonzero(block > lowest[:, None])
        if len(place) > DENSE * keep * len(rows):
            bound = np.partition(block, block.shape[1] - keep, axis=1)[:, block.shape[1] - keep]
            lowest = np.maximum(lowest, np.nextafter(bound, np.float32(-np.inf)))
            place, column = np.nonzero(block > lowest[:, None])
        counts = np.bincount(place, minlength=len(rows))
        width = int(counts.max(initial=0))
        order = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        scores = np.full((len(rows), keep + width), -np.inf, np.float32)
        columns = np.full((len(rows), keep + width), -1, np.int32)
        scores[:, :keep], columns[:, :keep] = self.scores[rows], self.columns[rows]
        scores[place, keep + order] = block[place, column]
        columns[place, keep + order] = first_column + column
        # Stable: of equal scores the earlier column stays before the later one.
        best = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
        self.scores[rows] = np.take_along_axis(scores, best, 1)
        self.columns[rows] = np.take_along_axis(columns, best, 1)
