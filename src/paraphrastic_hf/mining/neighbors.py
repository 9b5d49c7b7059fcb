"""Exact nearest neighbors by cosine, in both directions, without the whole matrix in memory.

For unit vectors X (n, dim) and Y (m, dim), the matrix of cosines X Y^T is computed tile by tile.
The rows of a tile give neighbors of X in Y, its columns neighbors of Y in X. At the end the cosines
of the neighbors are computed again, pair by pair, so that they do not depend on the tiling.
"""

import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import naming, replacing
from paraphrastic_hf.mining.tiles import GROUP, TILE, HalfTile, RunningTopK, Tile
from paraphrastic_hf.mining.vectors import UnitRows

ARRAYS = ("forward_scores", "forward_ids", "backward_scores", "backward_ids")
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)  # of `np.load`


def save_arrays(path: Path, **arrays: Any) -> None:
    with naming(path), replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of `save_arrays`, or none if the file does not exist or is damaged."""
    try:
        with path.open("rb") as file, np.load(file) as kept:
            return dict(kept)
    except UNREADABLE:
        return {}


def read_search(path: Path | None, key: str, state: dict[str, np.ndarray]) -> int:
    """Load the arrays of the search `key`. Return the number of strips searched so far."""
    found = {} if path is None else read_arrays(path)
    if str(found.get("key")) != key:
        return 0
    for name, array in state.items():
        array[:] = found[name]
    return int(found["done"])


MEGABYTE = 2**20
TILES_ALIVE = 4  # memory of a tile and copies of its parts, in tiles
SAVE_SECONDS = 30.0


class Neighbors(NamedTuple):
    """Nearest neighbors of each sentence, nearest first. Equal cosines are sorted by `ids`."""

    scores: np.ndarray  # cosines, (sentences, k) float32, -inf for a missing neighbor
    ids: np.ndarray  # rows of the neighbors, (sentences, k) int64, -1 for a missing neighbor


@dataclass(frozen=True)
class Plan:
    """Sizes of the blocks and tiles of a search."""

    block: int  # number of vectors of each side in memory at a time
    tile: int  # number of rows, and of columns, of a tile
    keep: int  # candidates per sentence, whose cosines are computed again at the end


def nearest(
    source: UnitRows,
    target: UnitRows,
    k: int,
    *,
    memory: float = 1024,
    precision: str = "float32",
    keep: Path | None = None,
    key: str = "",
    progress: bool = False,
    report: Callable[[float], None] = lambda cosines: None,
) -> tuple[Neighbors, Neighbors]:
    """Find the k nearest targets of every source, and the k nearest sources of every target.

    The result has fewer than k columns if the other side has fewer vectors. Its `ids` are positions
    in the other side.

    `memory` is in megabytes, for blocks, tiles and neighbors. Neighbors take 8 (k + 4) bytes per
    sentence in float32, blocks the rest, at least 64 MB. `bfloat16` is several times faster on
    processors with bfloat16 instructions but sometimes misses a neighbor (`benchmarks/README.md`).
    Returned cosines are float32. The file `keep` holds the state of the search of the vectors
    `key`. `report` gets the number of cosines of each strip.
    """
    plan = plan_search(source, target, k, memory, precision)
    sizes = (len(source), len(target))
    forward, backward = (RunningTopK(rows, plan.keep) for rows in sizes)
    key = f"{key} {sizes} {plan} {precision}"
    state = {"forward_scores": forward.scores, "forward_columns": forward.columns}
    state |= {"backward_scores": backward.scores, "backward_columns": backward.columns}
    done = read_search(keep, key, state)
    saved, finished = time.monotonic(), 0
    cosines = float(len(source)) * len(target)
    with (
        closing(_Search(source, target, plan, precision, (forward, backward))) as search,
        tqdm(total=cosines, desc="searching", unit_scale=True, disable=not progress) as bar,
    ):
        for finished, strip in enumerate(_strips(*sizes, plan), 1):
            if finished > done:
                search.compare(strip)
            made = (strip.rows[1] - strip.rows[0]) * (strip.columns[1] - strip.columns[0])
            bar.update(made)
            report(made)
            if keep and finished > done and time.monotonic() - saved >= SAVE_SECONDS:
                save_arrays(keep, key=key, done=finished, **state)
                saved = time.monotonic()
    if keep and finished > done:
        save_arrays(keep, key=key, done=finished, **state)
    del search
    rows = max(1, int(memory * MEGABYTE / 4 / (plan.keep * source.dimension * 8)))
    return (
        rescored(source, target, forward.columns, k, rows, report),
        rescored(target, source, backward.columns, k, rows, report),
    )


def plan_search(
    source: UnitRows, target: UnitRows, k: int, memory: float, precision: str = "float32"
) -> Plan:
    """Choose the largest blocks and tiles that fit in `memory`, in MB."""
    if source.dimension != target.dimension:
        raise DataError(
            f"Vectors differ in dimension: source {source.dimension}, target {target.dimension}"
        )
    keep = k + (4 if precision == "float32" else 8)
    state = (len(source) + len(target)) * keep * 8
    free = max(memory * MEGABYTE - state, min(memory, 64) * MEGABYTE)
    tile = min(TILE, int((free / 2 / TILES_ALIVE / 4) ** 0.5))
    tile = max(GROUP, tile // GROUP * GROUP)
    number = 4 if precision == "float32" else 2
    rows = (free - tile * tile * 4 * TILES_ALIVE) / (2 * source.dimension * number)
    return Plan(max(1, int(rows) // tile) * tile, tile, keep)


class _Strip(NamedTuple):
    """Ranges of a strip of the matrix of cosines, one tile high and a block of targets wide."""

    block: tuple[int, int]  # block of sources in memory
    columns: tuple[int, int]  # block of targets
    rows: tuple[int, int]  # sources of this strip, within their block


def _strips(sources: int, targets: int, plan: Plan) -> Iterator[_Strip]:
    """Yield the strips in search order: row and column indices increase."""
    for block in _cut(0, sources, plan.block):
        for columns in _cut(0, targets, plan.block):
            for rows in _cut(*block, plan.tile):
                yield _Strip(block, columns, rows)


def _cut(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(begin + size, stop)) for begin in range(start, stop, size))


class _Search:
    def __init__(
        self,
        source: UnitRows,
        target: UnitRows,
        plan: Plan,
        precision: str,
        best: tuple[RunningTopK, RunningTopK],
    ) -> None:
        self._sides, self._plan, self._best = (source, target), plan, best
        kind = Tile if precision == "float32" else HalfTile
        workers, threads = kind.threads()
        self._workers = ThreadPoolExecutor(workers, "tiles", kind.use_threads, (threads,))
        self._tiles = [kind() for _ in range(workers + 1)]
        self._settle = partial(kind.use_threads, workers * threads)
        self._loaded: list[tuple[tuple[int, int], Any]] = [((0, 0), None), ((0, 0), None)]

    def compare(self, strip: _Strip) -> None:
        """Compute the cosines of a strip. Keep the highest cosines of each row and column."""
        forward, backward = self._best
        block, others = self._load(0, strip.block), self._load(1, strip.columns)
        (top, bottom), left = strip.rows, strip.columns[0]
        own = block[top - strip.block[0] : bottom - strip.block[0]]
        spans = _cut(0, len(others), self._plan.tile)
        for tile, (begin, end) in self._made(own, others, spans):
            tile.add_rows(forward, top, bottom - top, left + begin)
            tile.add_columns(backward, left + begin, end - begin, top)

    def close(self) -> None:
        self._workers.shutdown(cancel_futures=True)
        self._settle()

    def _made(
        self, rows: Any, columns: Any, spans: Iterator[tuple[int, int]]
    ) -> Iterator[tuple[Tile, tuple[int, int]]]:
        waiting: deque[tuple[Tile, tuple[int, int], Future[None]]] = deque()

        def begin(tile: Tile) -> None:
            for start, stop in islice(spans, 1):
                made = self._workers.submit(tile.multiply, rows, columns[start:stop])
                waiting.append((tile, (start, stop), made))

        for tile in self._tiles:
            begin(tile)
        while waiting:
            tile, span, made = waiting.popleft()
            made.result()
            yield tile, span
            begin(tile)

    def _load(self, side: int, span: tuple[int, int]) -> Any:
        if self._loaded[side][0] != span:
            self._loaded[side] = ((0, 0), None)  # make room first
            self._loaded[side] = (span, self._tiles[0].load(self._sides[side], *span))
        return self._loaded[side][1]


def rescored(
    rows: UnitRows,
    others: UnitRows,
    candidates: np.ndarray,
    k: int,
    rows_at_a_time: int,
    report: Callable[[float], None] = lambda cosines: None,
) -> Neighbors:
    """Choose the k best `candidates`, (sentences, candidates), by cosines of single pairs."""
    k = min(k, candidates.shape[1], len(others))
    scores = np.full((len(rows), k), -np.inf, np.float32)
    ids = np.full((len(rows), k), -1, np.int64)
    for start in range(0, len(rows) if k else 0, rows_at_a_time):
        found = np.sort(candidates[start : start + rows_at_a_time].astype(np.int64), axis=1)
        near = others.take(np.maximum(found, 0).reshape(-1)).reshape(*found.shape, -1)
        cosine = np.einsum("nd,nkd->nk", rows.take(slice(start, start + len(found))), near)
        np.clip(cosine, -1, 1, out=cosine)  # rounding errors exceed 1
        cosine[found < 0] = -np.inf
        best = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
        scores[start : start + len(found)] = np.take_along_axis(cosine, best, 1)
        ids[start : start + len(found)] = np.take_along_axis(found, best, 1)
        report(0)
    return Neighbors(scores, ids)


def join(parts: Iterable[Neighbors], sizes: Sequence[int], k: int) -> Neighbors:
    """Merge neighbors of the same sentences that were searched in each shard separately. `sizes`
    are the shards' numbers of sentences. Equal cosines are sorted by `ids`, which are numbered
    across shards.
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
    """Concatenate the neighbors of groups of sentences, padded to (rows, k)."""
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
