"""What a converted release is, whatever it was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.contract import TextTokenizer

if TYPE_CHECKING:  # torch, which checks of arguments do without
    from paraphrastic_hf.models.base import SentenceEncoderModel


@dataclass(frozen=True)
class Choices:
    """What a file does not say, as the user gives it; None for what was not given.

    Attributes:
        kind: One of `RELEASED_PARTS` (`conversion/kinds.py`).
        vocabulary: File with the sentencepiece model, words or n-grams.
        combine: `add` or `concatenate`, of two directions or several encoders.
        activation: Of CHARAGRAM and projections: `tanh`, `linear` or `relu`.
        side: `first` or `second` language of a release with a table for each.
        spaced: Words are what stands between spaces, as in the releases.
        cased: Capitals matter; the releases lower-case.
        bad_rows: Of a vectors file, as in `read_vectors`.
    """

    kind: str | None = None
    vocabulary: str | None = None
    combine: str | None = None
    activation: str | None = None
    side: str | None = None
    spaced: bool = False
    cased: bool = False
    bad_rows: str = "refuse"

    def refuse(self, place: str, unread: Mapping[str, str]) -> None:
        """Refuse what was given and would change nothing.

        Args:
            place: The file.
            unread: Names of choices, with the reason.

        Raises:
            DataError: One of them was given.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in unread and value != field.default:
                flag = {"vocabulary": "tokenizer", "bad_rows": "bad-rows"}.get(
                    field.name, field.name
                )
                raise DataError(
                    f"--{flag} {value} changes nothing: {place} {unread[field.name]}; leave it out"
                )


@dataclass(frozen=True)
class Converted:
    """A release as a model of this package.

    Attributes:
        model: In evaluation mode.
        tokenizer: Its tokenizer.
        kind: What it was taken for.
        differences: What the release did otherwise, a sentence each.
    """

    model: SentenceEncoderModel
    tokenizer: TextTokenizer
    kind: str
    differences: tuple[str, ...]


NORMALIZED = "Text is normalized as by every tokenizer here: NFKC, ASCII quotes, single spaces."
NO_TOKEN = (
    "A text without known token has the zero vector; the release had one of UUUNKKK, or none."
)
SPLIT = (
    "Plain text is cut into words and punctuation marks here; the release expects text that the "
    "Stanford tokenizer cut, and takes what stands between spaces (--spaced does too)."
)
WORD_MARKS = (
    "The releases also look unknown words up without a # in front (2016, 2017) or without "
    "punctuation marks (ParaNMT); here they are unknown."
)


def filled(model: SentenceEncoderModel, state: Mapping[str, np.ndarray]) -> SentenceEncoderModel:
    """A model with these weights, all of them and no others, in evaluation mode."""
    import torch

    tensors = {name: torch.from_numpy(np.array(array, np.float32)) for name, array in state.items()}
    model.load_state_dict(tensors, strict=True)
    return model.eval()
