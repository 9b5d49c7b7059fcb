"""Pairs of sentences in text of many files: neighbours are searched file against file, by the
executors that make corpora, and joined before margins are computed, so that the pairs are those of
one search over all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.corpus import progress as task_progress
from paraphrastic_hf.corpus.arguments import MakeArguments
from paraphrastic_hf.corpus.encode import FILES, Blocks, array_of
from paraphrastic_hf.corpus.executors import run_stages
from paraphrastic_hf.corpus.stages import Stage
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.mining.bitext import (
    PAIRS_AT_A_TIME,
    Pairs,
    check_options,
    dropped,
    link,
)
from paraphrastic_hf.mining.neighbours import Neighbours, nearest
from paraphrastic_hf.mining.shards import join, read_neighbours, stack, write_neighbours
from paraphrastic_hf.mining.store import NO_TEXT, TextStore, file_stamp
from paraphrastic_hf.mining.vectors import UnitRows
from paraphrastic_hf.text.files import read_json, write_bytes, write_json
from paraphrastic_hf.text.locked import locked

RECORD = "mine.json"  # what a folder was begun with
SIDES = ("source", "target")


@dataclass(frozen=True)
class Shard:
    """One file of a side.

    Attributes:
        file: Its text.
        vectors: Its vectors, a row for each line.
        store: Where its lines are kept, with `rows.npy`: the lines that are searched.
    """

    file: str
    vectors: Path
    store: Path

    def rows(self, name: str) -> UnitRows:
        """The vectors of the lines that are searched, memory-mapped."""
        lines = np.load(self.store / "rows.npy")
        return UnitRows(np.load(self.vectors, mmap_mode="r"), lines, name)


class Search(Stage):
    """The neighbours of one file in another, both ways.

    Args:
        sides: The files of both sides; a task for each pair of them.
        folder: Where the neighbours go.
        k: Number of neighbours.
        precision: What the search computes in.
        memory: How many MB it may use.
        key: Says what the vectors are.
    """

    def __init__(
        self,
        sides: tuple[Sequence[Shard], Sequence[Shard]],
        folder: Path,
        *,
        k: int,
        precision: str,
        memory: float,
        key: str,
    ) -> None:
        super().__init__("search")
        self._sides, self._folder, self._key = sides, folder, key
        self._options: dict[str, Any] = {"precision": precision, "memory": memory}
        self._k = k

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        """Search the pair of files of the task `rank`."""
        first, second = divmod(rank, len(self._sides[1]))
        path = found_in(self._folder, first, second)
        with locked(self._folder / f"task-{rank:05d}", doing="at work"), self.track_time("block"):
            source = self._sides[0][first].rows("source")
            target = self._sides[1][second].rows("target")
            state = path.with_suffix(".state")
            forward, backward = nearest(
                source,
                target,
                self._k,
                keep=state,
                key=f"{self._key} {rank}",
                told=lambda cosines: task_progress.tell(round(cosines)),
                **self._options,
            )
            write_neighbours(path, forward, backward)
            state.unlink(missing_ok=True)
            self.count(len(source) * len(target), 0)
        return
        yield  # a generator, as datatrove runs it


def found_in(folder: Path, first: int, second: int) -> Path:
    """Where the neighbours of two files are kept."""
    return folder / f"{first:05d}-{second:05d}.npz"


@dataclass(frozen=True)
class MinedShards:
    """The pairs that were found in many files.

    Attributes:
        COLUMNS: The columns of `rows`.
        pairs: The pairs, as numbers of lines counted through all files of a side from 0.
        sides: The files of both sides.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "score", "source", "target", "source_file", "source_line", "target_file", "target_line",
    )  # fmt: skip

    pairs: Pairs
    sides: tuple[list[Shard], list[Shard]]

    def rows(self) -> Iterator[dict[str, list[Any]]]:
        """Give the pairs as columns of a table, `COLUMNS`, some thousands of pairs at a time.

        Lines are counted from 1 within their file.
        """
        stores = [[TextStore(shard.store) for shard in side] for side in self.sides]
        starts = [np.cumsum([0, *map(len, side)]) for side in stores]
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
                    texts[is_in] = list(stores[side][each].lines(line[is_in]))
                columns[name] = texts.tolist()
                columns[f"{name}_file"] = [self.sides[side][each].file for each in file]
                columns[f"{name}_line"] = (line + 1).tolist()
            yield columns


def mine_shards(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    output: str | os.PathLike[str],
    make: MakeArguments,
    *,
    read: Blocks,
    k: int = 4,
    precision: str = "float32",
    memory: float = 1024,
    different: bool = False,
    progress: bool = False,
    **options: Any,
) -> MinedShards | int:
    """Find the pairs of sentences that mean the same in two sides of many files each.

    Lines that are equal but for white space around them count as one sentence, in the place of the
    first; lines without text, or without a token that the model knows, are in no pair. The pairs
    are those that `mining.files.mine_lines` finds in each side's files one after the other.

    Args:
        source: A folder of vectors that `paraphrastic corpus encode` wrote.
        target: That of the other side, by the same model; it may be the same folder.
        output: The folder of lines, searches and pairs; what is complete there is kept.
        make: How the work is divided; its tasks are as many as pairs of files.
        read: A file's lines, some at a time, as they were encoded.
        k: Number of neighbours over which the margin is averaged, 1 or more.
        precision: What the search computes in, `float32` or `bfloat16`.
        memory: How many MB a task may use. At the end 12 k bytes a line of both sides are in
            memory.
        different: Never pair a line with an equal one; for paraphrases within one text.
        progress: Show progress bars.
        **options: `score`, `candidates`, `one_to_one` and `threshold` of `mining.bitext.mine`; they
            may change from one call to the next.

    Returns:
        The pairs; or the number of searches that are not complete, where jobs of a cluster are
        still at work.

    Raises:
        DataError: A folder is not complete, the sides are of two models, the text has changed since
            it was encoded, or the folder was begun with something else.
        BusyError: Another process is at work in the folder.
    """
    check_options(k=k, precision=precision, **options)
    folder = Path(output)
    records = [_encoded(Path(path)) for path in (source, target)]
    if records[0]["model"] != records[1]["model"]:
        raise DataError(
            f"{source} is of {records[0]['model']} and {target} of {records[1]['model']}: encode "
            "both by one model"
        )
    wanted = {
        "sides": records,
        "neighbours": k + different,
        "precision": precision,
        "different": different,
    }
    with locked(folder, doing="mining"):
        _check_begun(folder, wanted)
        sides = tuple(
            _shards(Path(path), record["files"], folder / name, read, progress)
            for path, record, name in zip((source, target), records, SIDES, strict=True)
        )
        counts = [[len(np.load(shard.store / "rows.npy")) for shard in side] for side in sides]
        search = folder / "search"
        search.mkdir(exist_ok=True)
        total = float(sum(counts[0])) * sum(counts[1])
        with tqdm(total=total, desc="searching", unit_scale=True, disable=not progress) as bar:
            unfinished = run_stages(
                [
                    Search(
                        (sides[0], sides[1]),
                        search,
                        k=k + different,
                        precision=precision,
                        memory=memory,
                        key=str(records),
                    )
                ],
                replace(make, tasks=len(sides[0]) * len(sides[1])),
                folder / "logs",
                name="mine",
                on_rows=bar.update,
            )
        if unfinished:
            return len(unfinished)
        return MinedShards(_link(sides, search, k, different, options), (sides[0], sides[1]))


def _encoded(folder: Path) -> dict[str, Any]:
    """What `corpus encode` says of a folder that is complete."""
    try:
        record: dict[str, Any] = read_json(folder / FILES)
        files = record["files"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder} holds no {FILES}; give a folder that `paraphrastic corpus encode` wrote"
        ) from error
    missing = [name for name in files if not array_of(folder, name).exists()]
    if missing:
        raise DataError(
            f"{folder} has no vectors of {counted(len(missing), 'file')} yet, the first "
            f"{missing[0]}; let `paraphrastic corpus encode` come to its end"
        )
    return record


def _check_begun(folder: Path, wanted: dict[str, Any]) -> None:
    record = folder / RECORD
    if record.exists():
        if read_json(record) != wanted:
            raise DataError(
                f"{folder} was begun with other vectors, neighbours or precision; choose another "
                "--output"
            )
    elif any(folder.iterdir()):
        raise DataError(f"{folder} is not empty; choose another --output")
    write_json(record, wanted)


def _shards(
    vectors: Path, files: Sequence[str], folder: Path, read: Blocks, progress: bool
) -> list[Shard]:
    """The files of a side, with their lines kept and those chosen that are searched."""
    shards, stores = [], []
    for number, file in enumerate(files):
        shard = Shard(file, array_of(vectors, file), folder / f"{number:05d}")
        store = TextStore.write(shard.store, read(file), file_stamp(file), progress=progress)
        rows = np.load(shard.vectors, mmap_mode="r").shape[0]
        if len(store) != rows:
            raise DataError(
                f"{file} has {counted(len(store), 'line')}, and {shard.vectors} vectors of {rows:,}"
                ": it has changed since it was encoded, so encode it again"
            )
        shards.append(shard)
        stores.append(store)
    hashes = np.concatenate([store.hashes for store in stores])
    _, first = np.unique(hashes, return_index=True)
    first = np.sort(first[hashes[first] != NO_TEXT])
    starts = np.cumsum([0, *map(len, stores)])
    for shard, start, stop in zip(shards, starts, starts[1:], strict=False):
        lines = first[np.searchsorted(first, start) : np.searchsorted(first, stop)] - start
        used = UnitRows(np.load(shard.vectors, mmap_mode="r"), lines, shard.file).rows
        _save(shard.store / "rows.npy", used)
    return shards


def _save(path: Path, array: np.ndarray) -> None:
    from io import BytesIO

    buffer = BytesIO()
    np.save(buffer, array)
    write_bytes(path, buffer.getvalue())


def _link(
    sides: Sequence[Sequence[Shard]],
    search: Path,
    k: int,
    different: bool,
    options: dict[str, Any],
) -> Pairs:
    """Join what every task has found, and choose pairs."""
    rows = [[np.load(shard.store / "rows.npy") for shard in side] for side in sides]
    sizes = [[len(each) for each in side] for side in rows]
    if not (sum(sizes[0]) and sum(sizes[1])):
        return Pairs(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64))
    forward = stack(_joined(search, sizes, k + different, 0))
    backward = stack(_joined(search, sizes, k + different, 1))
    if different:
        own, other = (_hashes(side, chosen) for side, chosen in zip(sides, rows, strict=True))
        forward, backward = (
            dropped(near, (theirs[near.ids] == mine[:, None]) & (near.ids >= 0), k)
            for near, mine, theirs in ((forward, own, other), (backward, other, own))
        )
    found = link(forward, backward, **options)
    lines = [_through(side, chosen) for side, chosen in zip(sides, rows, strict=True)]
    return Pairs(found.score, lines[0][found.source], lines[1][found.target])


def _joined(
    search: Path, sizes: Sequence[Sequence[int]], k: int, side: int
) -> Iterator[Neighbours]:
    """For each file of a side the neighbours of its lines in all files of the other."""
    for own in range(len(sizes[side])):
        parts = []
        for other in range(len(sizes[1 - side])):
            place = (own, other) if side == 0 else (other, own)
            parts.append(read_neighbours(found_in(search, *place))[side])
        yield join(parts, sizes[1 - side], k)


def _hashes(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    stores = (TextStore(shard.store) for shard in side)
    return np.concatenate([store.hashes[each] for store, each in zip(stores, rows, strict=True)])


def _through(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers of lines, counted through all files of a side."""
    starts = np.cumsum([0, *(len(TextStore(shard.store)) for shard in side)])
    return np.concatenate([each + start for each, start in zip(rows, starts, strict=False)])
