"""Mine sentence pairs from many files with the executors of `corpus make`.

One task searches one pair of files. Margins are computed from the joined neighbors of all tasks, so
the pairs are the same as in one search over all files.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import read_json, write_bytes
from paraphrastic_hf.io.lines import read_blocks
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.mining.bitext import PAIRS_AT_A_TIME, Pairs, check_options, dropped, link
from paraphrastic_hf.mining.neighbors import (
    Neighbors,
    join,
    nearest,
    read_neighbors,
    stack,
    write_neighbors,
)
from paraphrastic_hf.mining.store import NO_TEXT, TextStore, file_stamp
from paraphrastic_hf.mining.vectors import UnitRows
from paraphrastic_hf.pipelines.encode import FILES, check_settings, vectors_path
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.recipe import MakeArguments
from paraphrastic_hf.pipelines.stages import LastStage

RECORD = "mine.json"  # record of the settings
SIDES = ("source", "target")


@dataclass(frozen=True)
class Shard:
    """One text file of a side, with its vectors and a folder with its lines."""

    file: str
    vectors: Path
    store: Path  # its file `rows.npy` has the indices of the lines to search
    lines: int

    @property
    def rows(self) -> np.ndarray:
        return np.asarray(np.load(self.store / "rows.npy"))

    def unit_rows(self) -> UnitRows:
        """Return the vectors of the lines to search, memory-mapped."""
        return UnitRows(np.load(self.vectors, mmap_mode="r"), self.rows, str(self.vectors))


Sides = tuple[list[Shard], list[Shard]]


class Search(LastStage):
    """Stage that finds the neighbors between two files, in both directions."""

    def __init__(
        self, sides: Sides, folder: Path, *, k: int, precision: str, memory: float, key: str
    ) -> None:
        super().__init__("search", folder)
        self._sides, self._folder, self._key, self._k = sides, folder, key, k
        self._options: dict[str, Any] = {"precision": precision, "memory": memory}

    def _path(self, task: int) -> Path:
        return neighbors_path(self._folder, *divmod(task, len(self._sides[1])))

    def has_result(self, task: int) -> bool:
        return self._path(task).exists()

    def work(self, data: object, rank: int) -> None:
        first, second = divmod(rank, len(self._sides[1]))
        path = self._path(rank)
        with self.track_time("block"):
            source = self._sides[0][first].unit_rows()
            target = self._sides[1][second].unit_rows()
            state = path.with_suffix(".state")
            forward, backward = nearest(
                source,
                target,
                self._k,
                keep=state,
                key=f"{self._key} {rank}",
                report=lambda cosines: self.report(round(cosines)),
                **self._options,
            )
            write_neighbors(path, forward, backward)
            state.unlink(missing_ok=True)
            self.count(len(source) + len(target), 0)


def neighbors_path(folder: Path, first: int, second: int) -> Path:
    return folder / f"{first:05d}-{second:05d}.npz"


@dataclass(frozen=True)
class MinedShards:
    """Pairs mined from many files, with line indices counted through all files of a side."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "score", "source", "target", "source_file", "source_line", "target_file", "target_line",
    )  # fmt: skip

    pairs: Pairs
    sides: Sides

    def rows(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the pairs in blocks of thousands, as columns `COLUMNS`. Line numbers start at 1."""
        starts = [np.cumsum([0, *(shard.lines for shard in side)]) for side in self.sides]
        for begin in range(0, len(self.pairs.score), PAIRS_AT_A_TIME):
            part = Pairs(*(column[begin : begin + PAIRS_AT_A_TIME] for column in self.pairs))
            columns: dict[str, list[Any]] = {"score": part.score.tolist()}
            for side, name in enumerate(SIDES):
                numbers = part[1 + side]
                file = np.searchsorted(starts[side], numbers, side="right") - 1
                line = numbers - starts[side][file]
                texts = np.empty(len(numbers), object)
                for each in np.unique(file):
                    is_in = file == each
                    store = TextStore(self.sides[side][each].store)
                    texts[is_in] = list(store.lines(line[is_in]))
                columns[name] = texts.tolist()
                columns[f"{name}_file"] = [self.sides[side][each].file for each in file]
                columns[f"{name}_line"] = (line + 1).tolist()
            yield columns


@contextmanager
def mine_shards(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    output: str | os.PathLike[str],
    make: MakeArguments,
    *,
    k: int = 4,
    precision: str = "float32",
    memory: float = 1024,
    different: bool = False,
    progress: bool = False,
    **linking: Any,
) -> Iterator[MinedShards | int]:
    """Find sentence pairs with the same meaning between two sides of many files each, encoded by
    `paraphrastic corpus encode` with one model. If `target` is `source`, the best partner of a line
    is the line itself unless `different` is set.

    Yield the pairs, or the number of incomplete searches if jobs of a cluster are running or have
    failed. The pairs are those that `mining.files.mine_lines` finds in the concatenated files,
    unless more than k + 4 neighbors of a line have cosines that differ by rounding alone. `memory`
    is in megabytes per task. The last step needs about 200 bytes per line of both sides. There is
    one task per pair of files: `make.tasks` is ignored. The other options are those of
    `mine_lines`. `linking` may differ between calls.
    """
    check_options(k=k, precision=precision, **linking)
    folder = Path(output)
    records = [_encoded(Path(path)) for path in (source, target)]
    models = [record.get("model files") or record["model"] for record in records]
    if models[0] != models[1]:
        raise DataError(
            f"{source} was encoded with {records[0]['model']} and {target} with "
            f"{records[1]['model']}. Encode both with the same model"
        )
    wanted = {
        **dict(zip(SIDES, records, strict=True)),
        "neighbors": k,
        "precision": precision,
        "different": different,
    }
    with locked(folder, doing="mining"):
        check_settings(folder / RECORD, wanted)
        own, other = (
            _shards(Path(path), record["files"], folder / name, progress)
            for path, record, name in zip((source, target), records, SIDES, strict=True)
        )
        search = folder / "search"
        search.mkdir(exist_ok=True)
        total = float(sum(len(shard.rows) for shard in own))
        total *= sum(len(shard.rows) for shard in other)
        stage = Search(
            (own, other),
            search,
            k=k + different,
            precision=precision,
            memory=memory,
            key=str(records),
        )
        with tqdm(total=total, desc="searching", unit_scale=True, disable=not progress) as bar:
            unfinished = run_stages(
                [stage],
                replace(make, tasks=len(own) * len(other)),
                folder / "logs",
                name="mine",
                on_rows=bar.update,
            )
        if unfinished:
            yield len(unfinished)
        else:
            pairs = _link((own, other), search, k, different=different, **linking)
            yield MinedShards(pairs, (own, other))


def _encoded(folder: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = read_json(folder / FILES)
        files, stamps = record["files"], record["contents"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder} contains no {FILES}. Give a folder that `paraphrastic corpus encode` wrote"
        ) from error
    arrays = [vectors_path(folder, name) for name in files]
    missing = [name for name, array in zip(files, arrays, strict=True) if not array.exists()]
    if missing:
        raise DataError(
            f"{folder} lacks the vectors of {counted(len(missing), 'file')}, such as "
            f"{missing[0]}. Complete it with `paraphrastic corpus encode`"
        )
    for name, stamp in zip(files, stamps, strict=True):
        if not os.path.isfile(name):
            raise DataError(
                f"{name} of {folder} no longer exists. Restore it, or encode all files again"
            )
        if file_stamp(name) != stamp:
            raise DataError(
                f"{name} has changed since {folder} was made. Encode into another folder"
            )
    return {**record, "vectors": [file_stamp(str(array)) for array in arrays]}


def _shards(vectors: Path, files: Sequence[str], folder: Path, progress: bool) -> list[Shard]:
    """Store the text of each file and select the lines to search (distinct, vector not 0)."""
    shards, hashes = [], []
    for number, file in enumerate(files):
        array, place = vectors_path(vectors, file), folder / f"{number:05d}"
        store = TextStore.write(place, read_blocks(file), file_stamp(file), progress=progress)
        rows = np.load(array, mmap_mode="r").shape[0]
        if len(store) != rows:
            raise DataError(
                f"{file} has {len(store):,} lines, but {array} {rows:,} vectors. Encode it again"
            )
        shards.append(Shard(file, array, place, len(store)))
        hashes.append(store.hashes)
    if all((shard.store / "rows.npy").exists() for shard in shards):
        return shards  # `check_settings` has checked that text and vectors are unchanged
    every = np.concatenate(hashes)
    _, first = np.unique(every, return_index=True)
    first = np.sort(first[every[first] != NO_TEXT])
    starts = np.cumsum([0, *map(len, hashes)])
    for shard, start in zip(shards, starts, strict=False):
        begin, end = np.searchsorted(first, [start, start + shard.lines])
        lines = first[begin:end] - start
        buffer = BytesIO()  # for the indices of lines with a nonzero vector
        np.save(buffer, UnitRows(np.load(shard.vectors, mmap_mode="r"), lines, shard.file).rows)
        write_bytes(shard.store / "rows.npy", buffer.getvalue())
    return shards


def _link(sides: Sides, search: Path, k: int, *, different: bool, **linking: Any) -> Pairs:
    rows = [[shard.rows for shard in side] for side in sides]
    sizes = [[len(each) for each in side] for side in rows]
    if not (sum(sizes[0]) and sum(sizes[1])):
        return Pairs(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64))
    found = k + different
    forward = stack(_joined(search, sizes, found, 0), sum(sizes[0]), found)
    backward = stack(_joined(search, sizes, found, 1), sum(sizes[1]), found)
    if different:
        own, other = (_hashes(side, chosen) for side, chosen in zip(sides, rows, strict=True))
        forward, backward = (
            dropped(near, (theirs[near.ids] == mine[:, None]) & (near.ids >= 0), k)
            for near, mine, theirs in ((forward, own, other), (backward, other, own))
        )
    pairs = link(forward, backward, **linking)
    lines = [_line_numbers(side, chosen) for side, chosen in zip(sides, rows, strict=True)]
    return Pairs(pairs.score, lines[0][pairs.source], lines[1][pairs.target])


def _joined(search: Path, sizes: Sequence[Sequence[int]], k: int, side: int) -> Iterator[Neighbors]:
    """Yield, file by file, the neighbors of a side's lines in all files of the other side."""

    def found(own: int) -> Iterator[Neighbors]:
        for other in range(len(sizes[1 - side])):
            path = neighbors_path(search, *((own, other) if side == 0 else (other, own)))
            try:
                yield read_neighbors(path)[side]
            except DataError as error:
                path.unlink(missing_ok=True)
                raise DataError(f"{error}. Repeat the command to compute it again") from error

    for own in range(len(sizes[side])):
        yield join(found(own), sizes[1 - side], k)


def _hashes(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    pairs = zip(side, rows, strict=True)
    return np.concatenate([TextStore(shard.store).hashes[each] for shard, each in pairs])


def _line_numbers(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Convert line indices within each file to indices through all files of a side."""
    starts = np.cumsum([0, *(shard.lines for shard in side)])
    return np.concatenate([each + start for each, start in zip(rows, starts, strict=False)])
