"""Which keys were seen before, in a few bytes a key: sorted arrays that are merged as they grow.

A set of Python takes about 70 bytes a key, and this 12, or 30 while parts are merged: fifty million
rows fit into 600 MB, and 1.5 GB at times.
"""

from __future__ import annotations

import numpy as np


class Seen:
    """Keys with the number of the row that each was first seen in.

    Example:
        >>> seen = Seen()
        >>> seen.add(np.array([7, 9, 7], np.uint64), first=0).tolist()
        [-1, -1, 0]
        >>> seen.add(np.array([9, 8], np.uint64), first=3).tolist()
        [1, -1]
    """

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []  # each sorted, the largest first

    def add(self, keys: np.ndarray, first: int) -> np.ndarray:
        """The earlier rows with the keys of some rows, which are then seen.

        Args:
            keys: (rows,) uint64.
            first: The number of the first of these rows; they are in order.

        Returns:
            (rows,) int64, the number of the first row with the same key; -1 where there is none.
        """
        unique, at, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found = np.full(len(unique), -1, np.int64)
        for known, rows in self._parts:
            places = np.minimum(np.searchsorted(known, unique), len(known) - 1)
            is_there = known[places] == unique
            found[is_there] = rows[places[is_there]]
        is_new = found < 0
        if is_new.any():
            self._keep(unique[is_new], (at[is_new] + first).astype(np.uint32))
        before = np.where(found < 0, at + first, found)[inverse]
        return np.where(before == np.arange(first, first + len(keys)), -1, before)

    def _keep(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Parts shrink by halves at least, so a key is merged about log2(keys) times."""
        while self._parts and len(self._parts[-1][0]) < 2 * len(keys):
            other, other_rows = self._parts.pop()
            keys, rows = np.concatenate([other, keys]), np.concatenate([other_rows, rows])
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], rows[order]
        self._parts.append((keys, rows))
