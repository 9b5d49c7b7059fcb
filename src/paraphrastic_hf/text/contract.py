from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.text.ragged import Ragged


@dataclass(frozen=True)
class SpecialIds:
    """Ids of a tokenizer's special tokens.

    Attributes:
        unknown: Id of unknown tokens, if the tokenizer keeps them.
        start: Ids of start-of-text marks. A mixture has one for each tokenizer that adds the mark.
        end: Ids of end-of-text marks, one or several as for `start`.
        languages: Ids of language marks, by language code.
    """

    pad: int = 0
    unknown: int = 1
    start: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict)

    @property
    def all(self) -> frozenset[int]:
        ids = (self.pad, self.unknown, *self.start, *self.end, *self.languages.values())
        return frozenset(ids)


class TextTokenizer(Protocol):
    """Interface of all tokenizers. Unknown tokens are dropped, or get an id if `keep_unknown`."""

    lowercase: bool
    keeps_to_words: bool  # whether no token crosses white space

    @property
    def vocab_size(self) -> int: ...
    @property
    def special(self) -> SpecialIds: ...
    def encode_batch(self, texts: Sequence[str]) -> Ragged: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def tokens(self) -> list[str]: ...
    def save(self, directory: str | Path) -> None: ...


def check_size(found: int, vocab_size: int, what: str) -> None:
    """Raise an error if `found` distinct tokens are too few for `vocab_size`, which includes
    `<pad>` and `<unk>`.
    """
    if found + 2 < vocab_size:
        raise DataError(
            f"vocab_size {vocab_size} exceeds {counted(found, what)}. The maximum is {found + 2}"
        )
