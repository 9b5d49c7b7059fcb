"""The best of what has been seen so far, for many rows at once."""

from __future__ import annotations

import numpy as np


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

    def lowest(self, start: int, stop: int) -> np.ndarray:
        """The score that a new one must exceed to be kept, for each row from `start` to `stop`."""
        return self.scores[start:stop, -1]

    def add(
        self, rows: np.ndarray, place: np.ndarray, column: np.ndarray, scores: np.ndarray
    ) -> None:
        """Add scores of columns that come after all columns added before.

        Args:
            rows: The rows that have new scores, each once.
            place: For each score, the index in `rows` of its row; in any order.
            column: For each score, its column.
            scores: The scores, float32.
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
