"""What training and encoding need of a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from paraphrastic_hf.text.ragged import Ragged


class TextTokenizer(Protocol):
    """Any tokenizer of this package. Id 0 is padding, 1 is unknown."""

    lowercase: bool
    keeps_to_words: bool  # no token crosses white space

    @property
    def vocab_size(self) -> int: ...
    def encode_batch(self, texts: Sequence[str]) -> Ragged: ...
    def tokens(self) -> list[str]: ...
    def save(self, directory: str | Path) -> None: ...
