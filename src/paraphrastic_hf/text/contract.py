"""What training, encoding and generation need of a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paraphrastic_hf.text.ragged import Ragged


@dataclass(frozen=True)
class SpecialIds:
    """The ids that stand for something else than text.

    Attributes:
        pad: Fills the short texts of a padded batch.
        unknown: Stands for what the vocabulary does not have, in tokenizers that keep it.
        start: Those that begin a text; none, one, or in a mixture one for each part that has one.
        end: Those that end a text.
        languages: Those that name a language, by its code, in tokenizers of several.
    """

    pad: int = 0
    unknown: int = 1
    start: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict)

    @property
    def all(self) -> frozenset[int]:
        """Every special id."""
        ids = (self.pad, self.unknown, *self.start, *self.end, *self.languages.values())
        return frozenset(ids)


class TextTokenizer(Protocol):
    """Any tokenizer of this package: text to ids and, where that can be undone, back.

    Attributes:
        lowercase: Whether it lower-cases text first.
        keeps_to_words: Whether no token crosses white space.
    """

    lowercase: bool
    keeps_to_words: bool

    @property
    def vocab_size(self) -> int: ...
    @property
    def special(self) -> SpecialIds: ...
    def encode_batch(self, texts: Sequence[str]) -> Ragged: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def tokens(self) -> list[str]: ...
    def save(self, directory: str | Path) -> None: ...
