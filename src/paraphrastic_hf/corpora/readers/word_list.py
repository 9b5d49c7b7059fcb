"""Lists of words or phrases, with counts or without."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import text_lines


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
