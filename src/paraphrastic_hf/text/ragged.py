"""Many id sequences in two flat arrays: what every tokenizer here returns for a batch of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """Token ids of many texts, end to end.

    Attributes:
        ids: (tokens,) int32, all rows one after the other.
        offsets: (texts + 1,) int64; row i is `ids[offsets[i]:offsets[i + 1]]`.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Pack a list of id lists."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(rows), np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    @classmethod
    def concatenate(cls, parts: Iterable[Ragged]) -> Ragged:
        """The rows of all parts, in order."""
        parts = list(parts)
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.zeros(1 + sum(map(len, lengths)), np.int64)
        if lengths:
            np.cumsum(np.concatenate(lengths), out=offsets[1:])
        ids = np.concatenate([part.ids for part in parts]) if parts else np.empty(0, np.int32)
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Number of ids in each of `rows`."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows])

    def where(self, kept: np.ndarray) -> Ragged:
        """The same rows with only the ids marked in `kept`, (tokens,) bool."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return Ragged(self.ids[kept], before[self.offsets])

    def select(self, rows: np.ndarray, max_length: int | None = None) -> Ragged:
        """`rows` alone, in this order, each cut at `max_length`."""
        starts, lengths = self.offsets[rows], self.lengths(rows)
        if max_length is not None:
            lengths = np.minimum(lengths, max_length)
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.ids[places], offsets)

    def padded(
        self, rows: np.ndarray, max_length: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`rows` as a rectangle, cut at `max_length`.

        Returns:
            `(ids, mask)`, both (rows, longest) int64; padding is id 0 and mask 0.
        """
        chosen = self.select(rows, max_length)
        lengths = np.diff(chosen.offsets)
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = chosen.ids
        return ids, mask.astype(np.int64)
