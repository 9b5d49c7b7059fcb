"""Lists of words, and word vectors in GloVe's text format: a word and its numbers a line (PARAGRAM,
ParaNMT, GloVe)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from paraphrastic_hf.data.lines import open_lines, text_lines
from paraphrastic_hf.errors import DataError


def read_vectors(
    path: str | Path, *, wanted: Container[str], dimension: int
) -> Iterator[tuple[str, np.ndarray]]:
    """The vectors of wanted words, each (dimension,) float32, in file order.

    A first line of two numbers (word2vec's count and dimension) is passed over.

    Args:
        path: Text file, .gz or .xz.
        wanted: Words to give back.
        dimension: Numbers a vector must have.

    Raises:
        DataError: A wanted word's line has another dimension or holds what is no number.
    """
    with open_lines(Path(path)) as lines:
        for number, raw in enumerate(lines, 1):
            word, *values = raw.decode("utf-8", "replace").rstrip().split(" ")
            if word not in wanted or (number == 1 and len(values) == 1):
                continue
            if len(values) != dimension:
                raise DataError(
                    f"{path}:{number} has {len(values)} numbers for {word!r}, but the model has "
                    f"{dimension} dimensions; set model.hidden_size to {len(values)}"
                )
            try:
                yield word, np.array(values, np.float32)
            except ValueError as error:
                raise DataError(f"{path}:{number} holds what is no number: {error}") from error


def read_word_list(path: str | Path, most: int | None = None) -> dict[str, int | None]:
    """Words, or phrases, of a list with their counts, in file order; each once.

    A line is a word, or a word, a space or tab, and its count: the first line decides.

    Args:
        path: Text file, .gz or .xz.
        most: Read this many at most.

    Returns:
        Counts by word; None where the list has none.

    Raises:
        DataError: The file is missing, empty or damaged, or a line has no count where the first one
            has.

    Example:
        >>> read_word_list("words/enwiki_vocab_min200.txt.xz", 2)  # doctest: +SKIP
        {'the': 167485604, 'one': 138326283}
    """
    words: dict[str, int | None] = {}
    has_counts = False
    for number, line in islice(text_lines(Path(path)), most):
        counted = re.fullmatch(r"(.+)[ \t](\d+)", line)
        has_counts = counted is not None if number == 1 else has_counts
        if has_counts and counted is None:
            raise DataError(f"{path}:{number} has no count, but the first line has: {line!r}")
        if has_counts and counted is not None:
            words.setdefault(counted[1], int(counted[2]))
        elif line.strip():
            words.setdefault(line.strip(), None)
    if not words:
        raise DataError(f"{path} holds no word")
    return words
