"""Lengths of texts in a model's own tokens, for the length penalty (thesis, 7.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.fingerprint import plain_backend
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer

UNITS = ("tokens", "characters")

Lengths = Callable[[Sequence[str]], np.ndarray]


def length_counter(model: Any, unit: str = "tokens") -> Lengths:
    """Return a function that measures texts as a model sees them.

    Args:
        model: A `SentenceEncoder`, or any object with a Hugging Face `tokenizer`.
        unit: `tokens` counts tokens without special ones, as the thesis does; `characters` counts
            those of the tokens joined by spaces, as `evaluate.py` of the 2019 release does.

    Returns:
        A function from texts to their lengths, whole numbers of shape (texts,).

    Raises:
        ValueError: The unit is neither of these.
        ModelError: The model has no tokenizer.
    """
    if unit not in UNITS:
        raise ValueError(f"length must be one of {', '.join(UNITS)}, got {unit!r}")
    tokenizer: Any = getattr(model, "tokenizer", None)
    if isinstance(model, SentenceEncoder):
        return _Pieces(tokenizer, unit)
    backend = plain_backend(tokenizer)
    if backend is None:
        raise ModelError(
            f"{type(model).__name__} has no tokenizer to measure lengths with; "
            "use penalty='none', or a model of this package or of sentence-transformers"
        )
    return _BackendTokens(backend, unit)


@dataclass(frozen=True)
class _Pieces:
    """Measures lengths by a tokenizer of this package."""

    tokenizer: TextTokenizer
    unit: str

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        ids = self.tokenizer.encode_batch(texts)
        counts = np.diff(ids.offsets)
        if self.unit == "tokens":
            return counts
        ends = np.concatenate([[0], np.cumsum(self._sizes[ids.ids])])[ids.offsets]
        return np.asarray(np.maximum(np.diff(ends) + counts - 1, 0))

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.array([len(token) for token in self.tokenizer.tokens()])


@dataclass(frozen=True)
class _BackendTokens:
    """Measures lengths by a tokenizer of the `tokenizers` library."""

    tokenizer: Tokenizer
    unit: str

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        if self.unit == "tokens":
            return np.array([len(row.ids) for row in rows], np.int64)
        return np.array([len(" ".join(row.tokens)) for row in rows], np.int64)
