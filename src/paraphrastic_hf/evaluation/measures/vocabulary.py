"""Counts the words that an encoder's tokenizer does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.errors import NotApplicableError
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer, word_splitter


def unknown_share(encoder: Any, words: Sequence[str]) -> float | None:
    """Return the per cent of distinct words for which the tokenizer has no known token.

    Args:
        encoder: Any object with `encode`.
        words: The words; each counts once, however often it is there.

    Returns:
        The per cent, 0 to 100; None if the encoder's tokenizer is not one of this package.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if not hasattr(tokenizer, "keeps_to_words"):
        return None
    return 100 * float(_are_unknown(tokenizer, sorted(set(words))).mean())


def count_unknown(encoder: Any, texts: Sequence[str]) -> list[int]:
    """Count the words of each text that are not in the encoder's vocabulary.

    Args:
        encoder: An encoder with a `WordTokenizer`.
        texts: The texts.

    Raises:
        NotApplicableError: The encoder has no vocabulary of words.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if not isinstance(tokenizer, WordTokenizer):
        raise NotApplicableError(
            f"the encoder has no vocabulary of words: its tokenizer is {type(tokenizer).__name__}, "
            "not WordTokenizer"
        )
    splitter = word_splitter()
    words = [
        [word for word, _ in splitter.pre_tokenize_str(normalize(text, tokenizer.lowercase))]
        for text in texts
    ]
    distinct = sorted({word for each in words for word in each})
    is_unknown = dict(zip(distinct, _are_unknown(tokenizer, distinct), strict=True))
    return [sum(bool(is_unknown[word]) for word in each) for each in words]


def _are_unknown(tokenizer: Any, words: Sequence[str]) -> np.ndarray:
    """Whether each word has no ids other than 0 (padding) and 1 (unknown), (words,)."""
    return np.array([not (ids > 1).any() for ids in tokenizer.encode_batch(words)], bool)
