"""Which words an encoder does not know, by its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.errors import NotApplicableError
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer, word_splitter


def unknown_share(encoder: Any, words: Sequence[str]) -> float | None:
    """Per cent of the words for which the tokenizer has no known token.

    Args:
        encoder: Anything with `encode`.
        words: Each counts once, however often it stands here.

    Returns:
        None if the encoder's tokenizer is not one of this package.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if not hasattr(tokenizer, "keeps_to_words"):
        return None
    return 100 * float(_are_unknown(tokenizer, sorted(set(words))).mean())


def count_unknown(encoder: Any, texts: Sequence[str]) -> list[int]:
    """How many words of each text are not in the encoder's vocabulary.

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
    """Whether each word gets no id but 0 (padding) and 1 (unknown), (words,)."""
    return np.array([not (ids > 1).any() for ids in tokenizer.encode_batch(words)], bool)
