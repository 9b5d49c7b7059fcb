"""Test text that is not repeated."""

import random
from collections.abc import Sequence
from pathlib import Path

from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.text.normalize import normalize

Row = tuple[str, ...]


def unseen(
    files: Sequence[Path], columns: Sequence[int], size: int, repetitions: int, warm: int | None
) -> tuple[list[Row], list[list[Row]]]:
    """Return rows to warm up with, and a slice of other rows for each repetition.

    No text occurs twice. The warm-up rows are the first rows of the files. The others are shuffled.

    Args:
        files: Tab-separated files, may be compressed.
        columns: The columns to read, from 0.
        size: Maximum number of rows per slice.
        repetitions: Number of slices.
        warm: Warm-up rows per file, at most half of them. None takes half.
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
        raise SystemExit(f"{len(rest)} unseen rows are too few for {repetitions} repetitions")
    return first, [rest[number * size : (number + 1) * size] for number in range(repetitions)]


def share_of_new_words(warm: Sequence[Row], rows: Sequence[Row]) -> float:
    """Return the share of words in `rows` that do not occur in `warm`."""
    known = {word for row in warm for text in row for word in normalize(text).split()}
    words = [word for row in rows for text in row for word in normalize(text).split()]
    return sum(word not in known for word in words) / len(words)
