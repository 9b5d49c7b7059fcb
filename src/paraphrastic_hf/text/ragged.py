from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """Token ids of many texts, concatenated.

    Attributes:
        ids: Ids of all texts, (tokens,) int32.
        offsets: Bounds of the texts in `ids`, (texts + 1,) int64. Text i is
            `ids[offsets[i]:offsets[i + 1]]`.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_lists(cls, texts: Sequence[Sequence[int]]) -> Ragged:
        offsets = _offsets([len(text) for text in texts])
        ids = np.fromiter(chain.from_iterable(texts), np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    @classmethod
    def concatenate(cls, parts: Iterable[Ragged]) -> Ragged:
        parts = list(parts)
        if not parts:
            return cls.from_lists([])
        offsets = _offsets(np.concatenate([np.diff(part.offsets) for part in parts]))
        return cls(np.concatenate([part.ids for part in parts]), offsets)

    @classmethod
    def side_by_side(cls, parts: Sequence[Ragged]) -> Ragged:
        """Join the ids that each part has for the same text, in the order of the parts."""
        lengths = np.stack([np.diff(part.offsets) for part in parts], 1)  # (texts, parts)
        ends = lengths.cumsum().reshape(lengths.shape)
        ids = np.empty(int(lengths.sum()), np.int32)
        for k, part in enumerate(parts):
            shift = ends[:, k] - part.offsets[1:]
            ids[np.arange(len(part.ids)) + np.repeat(shift, lengths[:, k])] = part.ids
        return cls(ids, np.concatenate([[0], ends[:, -1]]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> np.ndarray:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self, numbers: np.ndarray) -> np.ndarray:
        """Return the number of ids of the texts with indices `numbers`, shaped like `numbers`."""
        return np.asarray(self.offsets[numbers + 1] - self.offsets[numbers])

    def where(self, is_kept: np.ndarray) -> Ragged:
        """Keep the ids for which `is_kept`, (tokens,) bool, is true."""
        before = np.concatenate([[0], np.cumsum(is_kept)])
        return Ragged(self.ids[is_kept], before[self.offsets])

    def select(self, numbers: np.ndarray, max_length: int | None = None) -> Ragged:
        """Return the texts with indices `numbers`, (chosen,), each cut to `max_length` ids."""
        starts, lengths = self.offsets[numbers], self.lengths(numbers)
        if max_length is not None:
            lengths = np.minimum(lengths, max_length)
        offsets = _offsets(lengths)
        places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.ids[places], offsets)

    def padded(
        self, numbers: np.ndarray, max_length: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids and the mask of texts. Both are (texts, longest) int64, 0 for padding."""
        chosen = self.select(numbers, max_length)
        lengths = np.diff(chosen.offsets)
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = chosen.ids
        return ids, mask.astype(np.int64)


def _offsets(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
