"""Convert a released vocabulary and table to this package's rows: 0 is padding, 1 unknown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.word import WordTokenizer

UNKNOWN = "UUUNKKK"  # in every release


def arrange(
    row_of: Mapping[str, int], table: np.ndarray, place: str
) -> tuple[list[str], np.ndarray]:
    """Return the tokens from id 2 on, and the table in the order of ids.

    Args:
        row_of: Row of each token.
        table: (rows, dim). Rows without a token are dropped.
        place: Name of the file, for messages.

    Returns:
        The tokens without `UUUNKKK`, in the order of their rows. Then the table, (len(tokens) + 2,
        dim) float32, with the row of `UUUNKKK` (or zeros) as row 1.

    Raises:
        DataError: A token's row is beyond the table, or the vocabulary is empty.

    Example:
        >>> arrange({"UUUNKKK": 0, "a": 1}, np.float32([[5], [7]]), "file")
        (['a'], array([[0.],
               [5.],
               [7.]], dtype=float32))
    """
    tokens = sorted(
        (token for token in row_of if token not in ("", UNKNOWN)), key=row_of.__getitem__
    )
    if not tokens or max(row_of.values()) >= len(table):
        raise DataError(
            f"{place}: the vocabulary has rows up to {max(row_of.values(), default=0):,}, but the "
            f"table has {len(table):,}. Give the vocabulary that the model was trained with"
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
    """Return a tokenizer of words, or of character n-grams with the lengths of the tokens."""
    if is_words:
        return WordTokenizer(tokens, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)
    orders = sorted({len(token) for token in tokens})
    return CharNgramTokenizer(
        ngrams=tokens, orders=orders, lowercase=lowercase, keep_unknown=keep_unknown
    )


def look_like_trigrams(row_of: Mapping[str, int]) -> bool:
    return all(len(token) == 3 for token in row_of if token != UNKNOWN)
