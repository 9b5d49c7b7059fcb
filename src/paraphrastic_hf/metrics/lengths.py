"""Lengths of texts in a model's own tokens, for the length penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError

UNITS = ("tokens", "characters")

Lengths = Callable[[Sequence[str]], np.ndarray]


def length_counter(model: Any, unit: str = "tokens") -> Lengths:
    """How to measure texts as a model sees them.

    Args:
        model: A `SentenceEncoder`, or anything with a Hugging Face `tokenizer`.
        unit: `tokens`, without special ones (the thesis); or `characters`, those of the tokens
            joined by spaces, which is what the `evaluate.py` of the 2019 release counts.

    Returns:
        A function from texts to whole numbers, (texts,).

    Raises:
        ValueError: Another unit.
        ModelError: The model has no tokenizer.
    """
    if unit not in UNITS:
        raise ValueError(f"length must be one of {', '.join(UNITS)}, got {unit!r}")
    tokenizer: Any = getattr(model, "tokenizer", None)
    if isinstance(model, SentenceEncoder):
        if unit == "tokens":
            return lambda texts: np.diff(tokenizer.encode_batch(texts).offsets)
        return _piece_characters(tokenizer)
    if hasattr(tokenizer, "backend_tokenizer"):
        tokenizer = tokenizer.backend_tokenizer
    if not hasattr(tokenizer, "encode_batch"):
        raise ModelError(
            f"{type(model).__name__} has no tokenizer to measure lengths with; "
            "use penalty='none', or a model of this package or of sentence-transformers"
        )

    def measure(texts: Sequence[str]) -> np.ndarray:
        rows = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        tokens = ([t for t, m in zip(r.tokens, r.attention_mask, strict=True) if m] for r in rows)
        if unit == "tokens":
            return np.array([len(row) for row in tokens], np.int64)
        return np.array([len(" ".join(row)) for row in tokens], np.int64)

    return measure


def _piece_characters(tokenizer: Any) -> Lengths:
    sizes = np.array([len(token) for token in tokenizer.tokens()])

    def measure(texts: Sequence[str]) -> np.ndarray:
        ids = tokenizer.encode_batch(texts)
        ends = np.concatenate([[0], np.cumsum(sizes[ids.ids])])[ids.offsets]
        return np.maximum(np.diff(ends) + np.diff(ids.offsets) - 1, 0)

    return measure
