"""Readers of the vocabulary files of the releases, whose line numbers are rows."""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import number_in, raw_lines


def read_word_rows(path: str | Path) -> dict[str, int]:
    """Return the row of each word of a vectors file: its line number, from 0.

    Skips a first line of two fields (word2vec). A repeated word gets its last row, as in the
    released code.

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
        raise DataError(f"{path} is empty. Expected a word at the start of each line")
    return row_of


def read_features(path: str | Path, count: int) -> dict[str, int]:
    """Return the row of each n-gram of a CHARAGRAM feature file. The model has `count` rows.

    A line is an n-gram, one separating character, a tab and a number of occurrences. The released
    code keeps n-grams with at least a minimum number of occurrences, in file order. The minimum is
    found from `count`. N-grams with non-ASCII bytes are left out, because the released code splits
    bytes instead of characters.

    Raises:
        DataError: A line has another form, or no minimum keeps `count` n-grams.
    """
    path = Path(path)
    seen: list[tuple[bytes, float]] = []
    most: dict[bytes, float] = {}
    for number, raw in raw_lines(path):
        ngram, *rest = raw.rstrip(b"\r\n").split(b"\t")
        if not rest or len(ngram) < 2:
            raise DataError(
                f"{path}:{number} is {raw[:40]!r}. Expected an n-gram, a space, a tab and a count"
            )
        occurrences = number_in(rest[0].decode("latin-1"), f"{path}:{number}", what="a count")
        ngram = ngram[:-1]
        seen.append((ngram, occurrences))
        most[ngram] = max(occurrences, most.get(ngram, 0))
    ranked = sorted(most.values(), reverse=True)
    if not 0 < count <= len(ranked) or (count < len(ranked) and ranked[count] == ranked[count - 1]):
        raise DataError(
            f"{path} has {len(ranked):,} n-grams, and no cutoff keeps the model's {count:,}. Give "
            "the feature file that the model was trained with"
        )
    cutoff = ranked[count - 1]
    kept = dict.fromkeys(ngram for ngram, occurrences in seen if occurrences >= cutoff)
    return {ngram.decode(): row for row, ngram in enumerate(kept) if ngram.isascii()}
