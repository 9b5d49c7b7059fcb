"""Conversion of released vocabularies to this package's rows: 0 is padding, 1 unknown tokens."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import number_in, raw_lines
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.word import WordTokenizer

UNKNOWN = "UUUNKKK"  # unknown token of every release


def arrange(
    row_of: Mapping[str, int], table: np.ndarray, place: str
) -> tuple[list[str], np.ndarray]:
    """Return the tokens with ids from 2, in the order of their rows, and the embedding table in the
    order of ids, (len(tokens) + 2, dim) float32. Its row 1 is the row of `UUUNKKK`, or zeros.
    """
    tokens = sorted(
        (token for token in row_of if token not in ("", UNKNOWN)), key=row_of.__getitem__
    )
    if not tokens or max(row_of.values()) >= len(table):
        raise DataError(
            f"{place}: the vocabulary has rows up to {max(row_of.values(), default=0):,}, but the "
            f"table has only {len(table):,} rows. Give the vocabulary that the "
            "model was trained with"
        )
    rows = [row_of[token] for token in tokens]
    arranged = np.zeros((len(tokens) + 2, table.shape[1]), np.float32)
    arranged[2:] = table[rows]
    if UNKNOWN in row_of:
        arranged[1] = table[row_of[UNKNOWN]]
    return tokens, arranged


def make_tokenizer(
    tokens: list[str], *, is_words: bool, lowercase: bool, keep_unknown: bool, spaced: bool
) -> TextTokenizer:
    """Return a word tokenizer, or an n-gram tokenizer with the n-gram lengths of `tokens`."""
    if is_words:
        return WordTokenizer(tokens, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)
    orders = sorted({len(token) for token in tokens})
    return CharNgramTokenizer(
        ngrams=tokens, orders=orders, lowercase=lowercase, keep_unknown=keep_unknown
    )


def look_like_trigrams(row_of: Mapping[str, int]) -> bool:
    return all(len(token) == 3 for token in row_of if token != UNKNOWN)


def read_word_rows(path: str | Path) -> dict[str, int]:
    """Return the row of each word in a file of vectors: the index of the word's line, the last of a
    repeated word, as in the released code. A first line of two fields (word2vec) is skipped.
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
    """Return the row of each n-gram in a CHARAGRAM feature file, for a model with `count` rows.

    A line is an n-gram, a separating character, a tab and a number of occurrences. The released
    code keeps n-grams with at least a minimum number of occurrences, in file order. This minimum
    follows from `count`. N-grams with non-ASCII bytes are left out, because the released code
    splits bytes instead of characters.
    """
    path = Path(path)
    seen: list[tuple[bytes, float]] = []
    most: dict[bytes, float] = {}
    for number, raw in raw_lines(path):
        ngram, *rest = raw.rstrip(b"\r\n").split(b"\t")
        if not rest or len(ngram) < 2:
            raise DataError(
                f"{path}:{number} is {raw[:40]!r}, not an n-gram, a space, a tab and a count"
            )
        occurrences = number_in(rest[0].decode("latin-1"), f"{path}:{number}", what="a count")
        ngram = ngram[:-1]
        seen.append((ngram, occurrences))
        most[ngram] = max(occurrences, most.get(ngram, 0))
    ranked = sorted(most.values(), reverse=True)
    if not 0 < count <= len(ranked) or (count < len(ranked) and ranked[count] == ranked[count - 1]):
        raise DataError(
            f"{path} has {len(ranked):,} n-grams, but no minimum count selects exactly the "
            f"model's {count:,}. Give the feature file that the model was trained with"
        )
    cutoff = ranked[count - 1]
    kept = dict.fromkeys(ngram for ngram, occurrences in seen if occurrences >= cutoff)
    return {ngram.decode(): row for row, ngram in enumerate(kept) if ngram.isascii()}
