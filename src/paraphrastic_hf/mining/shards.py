"""Combines neighbors that were searched separately for each pair of shards."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.mining.neighbors import Neighbors, read_arrays, save_arrays

ARRAYS = ("forward_scores", "forward_ids", "backward_scores", "backward_ids")


def join(parts: Iterable[Neighbors], sizes: Sequence[int], k: int) -> Neighbors:
    """Merge neighbors of the same sentences that were searched in each shard separately. `sizes`
    are the shards' numbers of sentences. Equal cosines are sorted by `ids`, counted through all
    shards.
    """
    best: Neighbors | None = None
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        found = Neighbors(part.scores, np.where(part.ids < 0, -1, part.ids + start))
        start += size
        if best is not None:
            found = Neighbors(
                np.concatenate([best.scores, found.scores], axis=1),
                np.concatenate([best.ids, found.ids], axis=1),
            )
        order = np.argsort(-found.scores, axis=1, kind="stable")[:, :k]
        best = Neighbors(*(np.take_along_axis(each, order, 1) for each in found))
    assert best is not None, "a side has no shard"
    return best


def stack(parts: Iterable[Neighbors], rows: int, k: int) -> Neighbors:
    """Concatenate the neighbors of several groups of sentences, which have `rows` sentences in
    total and at most k neighbors per sentence. Missing neighbors become -inf and -1.
    """
    scores = np.full((rows, k), -np.inf, np.float32)
    ids = np.full((rows, k), -1, np.int64)
    start = 0
    for part in parts:
        stop = start + len(part.scores)
        scores[start:stop, : part.scores.shape[1]] = part.scores
        ids[start:stop, : part.scores.shape[1]] = part.ids
        start = stop
    return Neighbors(scores, ids)


def write_neighbors(path: Path, forward: Neighbors, backward: Neighbors) -> None:
    save_arrays(path, **dict(zip(ARRAYS, (*forward, *backward), strict=True)))


def read_neighbors(path: Path) -> tuple[Neighbors, Neighbors]:
    found = read_arrays(path)
    if not found:
        raise DataError(f"{path} is missing or damaged")
    arrays = [found[name] for name in ARRAYS]
    return Neighbors(*arrays[:2]), Neighbors(*arrays[2:])
