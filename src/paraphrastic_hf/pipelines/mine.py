"""Pairs of sentences in text of many files: neighbors are searched file against file, by the
executors that make corpora, and joined before margins are computed, so that the pairs are those of
one search over all."""

from __future__ import annotations

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
from paraphrastic_hf.io.blocks import read_blocks
from paraphrastic_hf.io.files import read_json, write_bytes
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.mining.bitext import PAIRS_AT_A_TIME, Pairs, check_options, dropped, link
from paraphrastic_hf.mining.neighbors import Neighbors, nearest
from paraphrastic_hf.mining.shards import join, read_neighbors, stack, write_neighbors
from paraphrastic_hf.mining.store import NO_TEXT, TextStore, file_stamp
from paraphrastic_hf.mining.vectors import UnitRows
from paraphrastic_hf.pipelines.encode import FILES, array_of, check_begun
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.recipe import MakeArguments
from paraphrastic_hf.pipelines.stages import Stage

RECORD = "mine.json"  # what a folder was begun with
SIDES = ("source", "target")


@dataclass(frozen=True)
class Shard:
    """One file of a side.

    Attributes:
        file: Its text.
        vectors: Its vectors, a row for each line.
        store: Where its lines are kept, with `rows.npy`: the lines that are searched.
        lines: How many lines it has.
    """

    file: str
    vectors: Path
    store: Path
    lines: int

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the lines that are searched, increasing."""
        return np.asarray(np.load(self.store / "rows.npy"))

    def unit_rows(self) -> UnitRows:
        """The vectors of these lines, memory-mapped."""
        return UnitRows(np.load(self.vectors, mmap_mode="r"), self.rows, str(self.vectors))


Sides = tuple[list[Shard], list[Shard]]


class Search(Stage):
    """The neighbors of one file in another, both ways.

    Args:
        sides: The files of both sides; a task for each pair of them.
    """

    def __init__(
        self, sides: Sides, folder: Path, *, k: int, precision: str, memory: float, key: str
    ) -> None:
        super().__init__("search")
        self._sides, self._folder, self._key, self._k = sides, folder, key, k
        self._options: dict[str, Any] = {"precision": precision, "memory": memory}

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        """Search the pair of files of the task `rank`."""
        first, second = divmod(rank, len(self._sides[1]))
        path = found_in(self._folder, first, second)
        with locked(self._folder / f"task-{rank:05d}", doing="at work"), self.track_time("block"):
            source = self._sides[0][first].unit_rows()
            target = self._sides[1][second].unit_rows()
            state = path.with_suffix(".state")
            forward, backward = nearest(
                source,
                target,
                self._k,
                keep=state,
                key=f"{self._key} {rank}",
                told=lambda cosines: self.tell(round(cosines)),
                **self._options,
            )
            write_neighbors(path, forward, backward)
            state.unlink(missing_ok=True)
            self.count(len(source) + len(target), 0)
        return
        yield  # a generator, as datatrove runs it


def found_in(folder: Path, first: int, second: int) -> Path:
    """Where the neighbors of two files are kept."""
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
    sides: Sides

    def rows(self) -> Iterator[dict[str, list[Any]]]:
        """Give the pairs as columns of a table, `COLUMNS`, some thousands of pairs at a time.

        Lines are counted from 1 within their file.
        """
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
    score: str = "ratio",
    candidates: str = "union",
    one_to_one: bool = True,
    threshold: float | None = None,
    progress: bool = False,
) -> Iterator[MinedShards | int]:
    """Find the pairs of sentences that mean the same in two sides of many files each.

    Lines that are equal but for white space around them count as one sentence, in the place of the
    first; lines without text, or without a token that the model knows, are in no pair. The pairs
    are those that `mining.files.mine_lines` finds in each side's files one after the other; only
    among more than k + 4 lines whose cosines differ by no more than rounding may it be others.
    Where both sides are the same, every line's best partner is itself, or the first of those with
    an equal vector, unless `different` is set.

    Args:
        source: A folder of vectors that `paraphrastic corpus encode` wrote.
        target: That of the other side, by the same model; it may be the same folder.
        output: The folder of lines, searches and pairs, which no other process may use meanwhile;
            what is complete there is kept.
        make: How the work is divided; its tasks are as many as pairs of files.
        k: Number of neighbors over which the margin is averaged, 1 or more.
        precision: What the search computes in, `float32` or `bfloat16`.
        memory: How many MB a task may use. At the end some 200 bytes for each line of both sides
            are in memory.
        different: Never pair a line with an equal one; for paraphrases within one text.
        score: What ranks the pairs, as of `mining.bitext.mine`; it may change from one call to the
            next, as what follows may.
        threshold: The lowest score of a pair; None for no limit.

    Yields:
        The pairs; or the number of searches that are not complete, where jobs of a cluster are
        still at work or have failed.
    """
    options: dict[str, Any] = {
        "score": score,
        "candidates": candidates,
        "one_to_one": one_to_one,
        "threshold": threshold,
    }
    check_options(k=k, precision=precision, **options)
    folder = Path(output)
    records = [_encoded(Path(path)) for path in (source, target)]
    models = [record.get("model files") or record["model"] for record in records]
    if models[0] != models[1]:
        raise DataError(
            f"{source} is of {records[0]['model']} and {target} of {records[1]['model']}: encode "
            "both by one model"
        )
    wanted = {
        **dict(zip(SIDES, records, strict=True)),
        "neighbors": k,
        "precision": precision,
        "different": different,
    }
    with locked(folder, doing="mining"):
        check_begun(folder / RECORD, wanted)
        own, other = (
            _shards(Path(path), record["files"], folder / name, progress)
            for path, record, name in zip((source, target), records, SIDES, strict=True)
        )
        search = folder / "search"
        search.mkdir(exist_ok=True)
        _forget_lost(folder / "logs" / "completions", search, len(other))
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
            pairs = _link((own, other), search, k, different=different, **options)
            yield MinedShards(pairs, (own, other))


def _encoded(folder: Path) -> dict[str, Any]:
    """What `corpus encode` says of a folder that is complete, and when its vectors were written."""
    try:
        record: dict[str, Any] = read_json(folder / FILES)
        files, stamps = record["files"], record["contents"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder} holds no {FILES}; give a folder that `paraphrastic corpus encode` wrote"
        ) from error
    arrays = [array_of(folder, name) for name in files]
    missing = [name for name, array in zip(files, arrays, strict=True) if not array.exists()]
    if missing:
        raise DataError(
            f"{folder} has no vectors of {counted(len(missing), 'file')} yet, the first "
            f"{missing[0]}; let `paraphrastic corpus encode` come to its end"
        )
    for name, stamp in zip(files, stamps, strict=True):
        if not os.path.isfile(name):
            raise DataError(f"{name}, of which {folder} has vectors, is not there any more")
        if file_stamp(name) != stamp:
            raise DataError(
                f"{name} has changed since {folder} got its vectors: encode all files into another "
                "folder"
            )
    return {**record, "vectors": [file_stamp(str(array)) for array in arrays]}


def _shards(vectors: Path, files: Sequence[str], folder: Path, progress: bool) -> list[Shard]:
    """The files of a side, with their lines kept and those chosen that are searched."""
    shards, hashes = [], []
    for number, file in enumerate(files):
        array, place = array_of(vectors, file), folder / f"{number:05d}"
        store = TextStore.write(place, read_blocks(file), file_stamp(file), progress=progress)
        rows = np.load(array, mmap_mode="r").shape[0]
        if len(store) != rows:
            raise DataError(
                f"{file} has {counted(len(store), 'line')}, and {array} vectors of {rows:,}: they "
                "were not made of each other"
            )
        shards.append(Shard(file, array, place, len(store)))
        hashes.append(store.hashes)
    if all((shard.store / "rows.npy").exists() for shard in shards):
        return shards  # the record has seen to it that text and vectors are those of before
    every = np.concatenate(hashes)
    _, first = np.unique(every, return_index=True)
    first = np.sort(first[every[first] != NO_TEXT])
    starts = np.cumsum([0, *map(len, hashes)])
    for shard, start in zip(shards, starts, strict=False):
        begin, end = np.searchsorted(first, [start, start + shard.lines])
        lines = first[begin:end] - start
        buffer = BytesIO()  # without the vectors that are zero
        np.save(buffer, UnitRows(np.load(shard.vectors, mmap_mode="r"), lines, shard.file).rows)
        write_bytes(shard.store / "rows.npy", buffer.getvalue())
    return shards


def _forget_lost(completions: Path, search: Path, others: int) -> None:
    """Let a task be done again whose file is gone."""
    for mark in completions.glob("[0-9]*"):
        if not found_in(search, *divmod(int(mark.name), others)).exists():
            mark.unlink()


def _link(sides: Sides, search: Path, k: int, *, different: bool, **options: Any) -> Pairs:
    """Join what every task has found, and choose pairs."""
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
    pairs = link(forward, backward, **options)
    lines = [_through(side, chosen) for side, chosen in zip(sides, rows, strict=True)]
    return Pairs(pairs.score, lines[0][pairs.source], lines[1][pairs.target])


def _joined(search: Path, sizes: Sequence[Sequence[int]], k: int, side: int) -> Iterator[Neighbors]:
    """For each file of a side the neighbors of its lines in all files of the other."""

    def found(own: int) -> Iterator[Neighbors]:
        for other in range(len(sizes[1 - side])):
            path = found_in(search, *((own, other) if side == 0 else (other, own)))
            try:
                yield read_neighbors(path)[side]
            except DataError as error:
                path.unlink(missing_ok=True)
                raise DataError(f"{error}; give the same command, which makes it again") from error

    for own in range(len(sizes[side])):
        yield join(found(own), sizes[1 - side], k)


def _hashes(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    pairs = zip(side, rows, strict=True)
    return np.concatenate([TextStore(shard.store).hashes[each] for shard, each in pairs])


def _through(side: Sequence[Shard], rows: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers of lines, counted through all files of a side."""
    starts = np.cumsum([0, *(shard.lines for shard in side)])
    return np.concatenate([each + start for each, start in zip(rows, starts, strict=False)])
