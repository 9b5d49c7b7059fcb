import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.mining.tiles import TILE

QUERIES_AT_A_TIME = 1024


class Match(NamedTuple):
    """A text near a query."""

    cosine: float
    place: int  # index among all texts
    text: str


def nearest_texts(
    queries: np.ndarray, blocks: Iterable[tuple[Sequence[str], np.ndarray]], count: int
) -> list[list[Match]]:
    """Find the `count` texts nearest to each query by cosine. Ties keep the order of the texts.
    Queries and vectors, (n, dim), may have any scale. Blocks are read one at a time.
    """
    wanted = unit_length(queries)
    best: list[list[tuple[float, int, str]]] = [[] for _ in wanted]
    number = 0
    for texts, vectors in blocks:
        if not texts:
            continue
        units = unit_length(vectors)
        for start in range(0, len(wanted), QUERIES_AT_A_TIME):
            part = slice(start, start + QUERIES_AT_A_TIME)
            similarity = np.clip(wanted[part] @ units.T, -1, 1)  # (queries, texts)
            for found, row in zip(best[part], similarity, strict=True):
                columns = _highest(row, min(count, len(texts)))
                found += [(float(row[c]), -(number + int(c)), texts[c]) for c in columns]
                found[:] = heapq.nlargest(count, found)
        number += len(texts)
    return [[Match(cosine, -place, text) for cosine, place, text in found] for found in best]


def highest_cosines(queries: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the cosine of each unit vector with the nearest of others, (queries,)."""
    best = np.full(len(queries), -1, queries.dtype)
    for top in range(0, len(queries), TILE):
        own = queries[top : top + TILE]
        for left in range(0, len(others), TILE):
            found = (own @ others[left : left + TILE].T).max(1)
            np.maximum(best[top : top + TILE], found, out=best[top : top + TILE])
    return np.asarray(np.minimum(best, 1))  # rounding may exceed 1


def _highest(row: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the `count` highest values, highest first. Ties keep their order."""
    lowest = np.partition(row, len(row) - count)[len(row) - count]
    columns = np.flatnonzero(row >= lowest)
    return columns[np.argsort(-row[columns], kind="stable")[:count]]
