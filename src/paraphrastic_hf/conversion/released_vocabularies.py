"""Vocabulary files that stand beside the released models, whose rows are counted by line."""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import number_in, raw_lines


def read_word_rows(path: str | Path) -> dict[str, int]:
    """Row of each word of the vectors file a model was trained from: its line, from 0 on.

    A first line of two fields, word2vec's, is not counted. Of a word that comes twice the last row
    is used, as in the released code.

    Raises:
        DataError: The file is missing or empty, or a word is not UTF-8.
    """
    path = Path(path)
    row_of: dict[str, int] = {}
    rows = 0
    for number, raw in raw_lines(path):
        fields = raw.split()
        if not fields or (number == 1 and len(fields) == 2):
            continue
        try:
            row_of[fields[0].decode("utf-8")] = rows
        except UnicodeDecodeError as error:
            raise DataError(f"{path}:{number} has a word that is not UTF-8: {error}") from error
        rows += 1
    if not rows:
        raise DataError(f"{path} is empty; expected a word at the start of each line")
    return row_of


def read_features(path: str | Path, count: int) -> dict[str, int]:
    """Row of each n-gram of a CHARAGRAM feature file, of which the model has `count`.

    A line is an n-gram, one character that belongs to neither, a tab and how often it was seen.
    The released code keeps those seen at least so often, in file order; how often is not in the
    model, but `count` tells it.

    N-grams with bytes that are not ASCII are left out: the released code cuts bytes, not
    characters.

    Raises:
        DataError: A line is no such line, or no number of occurrences keeps `count` n-grams.
    """
    path = Path(path)
    seen: list[tuple[bytes, float]] = []
    most: dict[bytes, float] = {}
    for number, raw in raw_lines(path):
        ngram, *rest = raw.rstrip(b"\r\n").split(b"\t")
        if not rest or len(ngram) < 2:
            raise DataError(
                f"{path}:{number} is {raw[:40]!r}; expected an n-gram, a space, a tab and a count"
            )
        occurrences = number_in(rest[0].decode("latin-1"), f"{path}:{number}", what="a count")
        ngram = ngram[:-1]
        seen.append((ngram, occurrences))
        most[ngram] = max(occurrences, most.get(ngram, 0))
    ranked = sorted(most.values(), reverse=True)
    if not 0 < count <= len(ranked) or (count < len(ranked) and ranked[count] == ranked[count - 1]):
        raise DataError(
            f"{path} has {len(ranked):,} n-grams, and the model {count:,}, which no cutoff keeps; "
            "give the feature file that the model was trained with"
        )
    cutoff = ranked[count - 1]
    kept = dict.fromkeys(ngram for ngram, occurrences in seen if occurrences >= cutoff)
    return {ngram.decode(): row for row, ngram in enumerate(kept) if ngram.isascii()}
