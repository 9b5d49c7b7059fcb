"""Storage of the two texts of a mining run: lines, line hashes and vectors, larger than memory."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from tqdm.auto import tqdm

import paraphrastic_hf
from paraphrastic_hf.encoders.storage.arrays import HEADER_BYTES, array_header
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import content_hash, naming, read_json, write_json

LINES_AT_A_TIME = 16_384
NO_TEXT = 0  # the hash of a line that is empty or white space
STATE = "text.json"  # first file of a folder of lines
SEARCH = "search.npz"  # beside the folders of both sides


class TextStore:
    """Lines of text on disk, with their hashes and vectors. `digest` is the hash of the whole text,
    `hashes`, (lines,) uint64, those of lines without surrounding white space, 0 for a blank line.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digest: str = _state(folder / STATE)["digest"]
        self.hashes = np.load(folder / "hashes.npy")
        self._ends = np.load(folder / "ends.npy", mmap_mode="r")

    @classmethod
    def write(
        cls, folder: Path, blocks: Iterable[list[str]], stamp: str = "", *, progress: bool = False
    ) -> TextStore:
        """Copy lines to a folder, unless it has complete lines with the same stamp."""
        if stamp and _state(folder / STATE).get("stamp") == stamp:
            with contextlib.suppress(OSError, ValueError, EOFError, KeyError):
                kept, size = cls(folder), (folder / "text").stat().st_size
                if len(kept._ends) == len(kept) + 1 and int(kept._ends[-1]) == size:
                    return kept
        folder.mkdir(parents=True, exist_ok=True)
        _write_state(folder / STATE, {})
        digest, size, ends, hashes = hashlib.blake2b(digest_size=16), 0, [], []
        with (
            naming(folder / "text"),
            (folder / "text").open("wb") as file,
            tqdm(desc="reading", unit=" lines", unit_scale=True, disable=not progress) as bar,
        ):
            for block in blocks:
                lines = [line.encode("utf-8", "replace") + b"\n" for line in block]
                lengths = np.fromiter(map(len, lines), np.int64, len(lines))
                ends.append(size + np.cumsum(lengths))
                size += int(lengths.sum())
                hashes.append(np.fromiter(map(_hash, block), np.uint64, len(block)))
                text = b"".join(lines)
                digest.update(text)
                file.write(text)
                bar.update(len(lines))
        ends.insert(0, np.zeros(1, np.int64))
        hashes.insert(0, np.zeros(0, np.uint64))
        for name, arrays in (("ends.npy", ends), ("hashes.npy", hashes)):
            with naming(folder / name):
                np.save(folder / name, np.concatenate(arrays))
        _write_state(folder / STATE, {"digest": digest.hexdigest(), "stamp": stamp})
        return cls(folder)

    def __len__(self) -> int:
        return len(self.hashes)

    def first_of_each(self) -> np.ndarray:
        """Return the first occurrences of lines that are not blank, sorted, (distinct,)."""
        _, first = np.unique(self.hashes, return_index=True)
        return np.sort(first[self.hashes[first] != NO_TEXT])

    def places_of(self, hashes: np.ndarray) -> np.ndarray:
        """Return the first line with each hash, (count,), or -1 for a blank line or none."""
        known, first = np.unique(self.hashes, return_index=True)
        if not len(known):
            return np.full(len(hashes), -1)
        place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        is_there = (known[place] == hashes) & (hashes != NO_TEXT)
        return np.where(is_there, first[place], -1)

    def lines(self, numbers: np.ndarray) -> Iterator[str]:
        with (self.folder / "text").open("rb") as file:
            for number in numbers.tolist():
                yield self._read(file, number, number + 1)[:-1].decode("utf-8")

    def vectors(
        self,
        encoder: Any,
        key: str,
        *,
        lines_at_a_time: int = LINES_AT_A_TIME,
        progress: bool = False,
    ) -> np.ndarray:
        """Return the vectors of all lines, (lines, dim) float32, memory-mapped. Finished blocks of
        an earlier call are reused if lines, `key` (the encoder's `identity`) and package version
        are equal.
        """
        path, log = self.folder / "vectors.npy", self.folder / "vectors.json"
        key = f"{self.digest} {key} {paraphrastic_hf.__version__}"
        state = _state(log)
        done = state["done"] if state.get("key") == key and _has_rows(path, len(self)) else 0
        if not done:
            log.unlink(missing_ok=True)
        # Not written to mapped memory, because that kills the process on a full disk.
        with (
            (self.folder / "text").open("rb") as file,
            path.open("r+b" if done else "w+b") as output,
            tqdm(
                total=len(self),
                initial=done,
                desc="encoding",
                unit=" lines",
                unit_scale=True,
                disable=not progress,
            ) as bar,
        ):
            while done < len(self):
                stop = min(done + lines_at_a_time, len(self))
                texts = self._read(file, done, stop).decode("utf-8").split("\n")[:-1]
                vectors = checked_vectors(encoder.encode(texts), stop - done)
                header = array_header((len(self), vectors.shape[1]))
                row = 4 * vectors.shape[1]  # bytes
                with naming(path):
                    output.seek(0)
                    if not done:
                        output.write(header)
                        # readable before it is complete
                        output.truncate(HEADER_BYTES + row * len(self))
                    elif output.read(HEADER_BYTES) != header:
                        raise ModelError(
                            f"`encode` changed the number of dimensions to {vectors.shape[1]}"
                        )
                    output.seek(HEADER_BYTES + row * done)
                    output.write(np.ascontiguousarray(vectors, "<f4").data)
                    output.flush()
                bar.update(stop - done)
                done = stop
                _write_state(log, {"key": key, "done": done})
        return np.load(path, mmap_mode="r") if done else np.zeros((0, 1), np.float32)

    def _read(self, file: BinaryIO, start: int, stop: int) -> bytes:
        file.seek(int(self._ends[start]))
        return file.read(int(self._ends[stop] - self._ends[start]))


def _hash(line: str) -> int:
    text = line.strip().encode("utf-8", "replace")
    if not text:
        return NO_TEXT
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") or 1


def _state(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _write_state(path: Path, state: dict[str, Any]) -> None:
    with naming(path):
        write_json(path, state)


def _has_rows(path: Path, rows: int) -> bool:
    try:
        return bool(np.lib.format.open_memmap(path, mode="r").shape[:1] == (rows,))
    except (OSError, ValueError, EOFError):
        return False


def file_stamp(path: str) -> str:
    """Return the path and content hash of a file, a stamp for `TextStore.write`."""
    return f"{os.path.realpath(path)} {content_hash(path)}" if os.path.isfile(path) else ""


def check_folder(folder: Path) -> None:
    """Raise a DataError if a work folder has files that mining did not write."""
    names = {each.name.removesuffix(".part") for each in folder.iterdir()}
    foreign = min(names - {"source", "target", SEARCH}, default=None)
    for side in (folder / "source", folder / "target"):
        if side.exists() and any(side.iterdir() if side.is_dir() else [side]):
            foreign = foreign if list(side.glob(f"{STATE}*")) else side.name
    if foreign is not None:
        raise DataError(f"{folder} has {foreign}, not written by mining. Use another --work")
