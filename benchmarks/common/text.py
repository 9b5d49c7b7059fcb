"""Text that no contender has met."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.text.normalize import normalize

Row = tuple[str, ...]


def unseen(
    files: Sequence[Path], columns: Sequence[int], size: int, repetitions: int, warm: int | None
) -> tuple[list[Row], list[list[Row]]]:
    """Return rows to warm up with, and other rows to time, a slice for each repetition.

    No text occurs twice. The rows to warm up with are the beginnings of the files; the others are
    shuffled, so that all slices are alike.

    Args:
        files: Tab-separated files, also packed.
        columns: The columns to read, from 0.
        size: Rows of a slice at most.
        repetitions: Slices.
        warm: Rows of each file to warm up with, at most half of them; half if None.
    """
    first: list[Row] = []
    rest: list[Row] = []
    met: set[str] = set()
    for file in files:
        rows: list[Row] = []
        for _, line in text_lines(file):
            cells = line.split("\t")
            row = tuple(cells[column].strip() for column in columns)
            if all(row) and len(set(row)) == len(row) and met.isdisjoint(row):
                met.update(row)
                rows.append(row)
        cut = min(len(rows) // 2, len(rows) if warm is None else warm)
        first += rows[:cut]
        rest += rows[cut:]
    random.Random(1).shuffle(rest)
    size = min(size, len(rest) // repetitions)
    if not size:
        raise SystemExit(f"{len(rest)} unseen rows do not suffice for {repetitions} repetitions")
    return first, [rest[number * size : (number + 1) * size] for number in range(repetitions)]


def share_of_new_words(warm: Sequence[Row], rows: Sequence[Row]) -> float:
    """Return the share of the words in `rows` that `warm` does not have."""
    known = {word for row in warm for text in row for word in normalize(text).split()}
    words = [word for row in rows for text in row for word in normalize(text).split()]
    return sum(word not in known for word in words) / len(words)
