"""Options, formats and results of conversions."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paraphrastic_hf.conversion.kinds import RELEASED_PARTS
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.contract import TextTokenizer

if TYPE_CHECKING:  # imports torch, which checks of options do not need
    from paraphrastic_hf.models.base import SentenceEncoderModel


TORCH_START = b"\x80\x02\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little")  # older format
UNREAD = {  # options without effect on a format, and the reason
    "text": dict.fromkeys(("vocabulary", "combine", "activation", "side"), "holds vectors as text"),
    "theano": {
        "side": "is a Theano release, which has one language",
        "bad_rows": "is a Theano release, not text",
    },
    "torch": dict.fromkeys(("combine", "activation", "bad_rows"), "is a PyTorch release"),
}
PICKLE_SUFFIXES = (".pickle", ".pkl", ".p")


@dataclass(frozen=True)
class Choices:
    """Facts that a file does not contain, given by the user."""

    kind: str | None = None  # key of `RELEASED_PARTS` (`conversion/kinds.py`), or detected
    vocabulary: str | None = None  # file of the tokenizer: sentencepiece model, words or n-grams
    combine: str | None = None  # of two directions or several encoders: add or concatenate
    activation: str | None = None  # of CHARAGRAM or a projection: tanh, linear or relu
    side: str | None = None  # language to convert, first or second, if each has a table
    spaced: bool = False  # split words at spaces only, as in the releases
    cased: bool = False  # keep capitals, unlike the releases
    bad_rows: str = "refuse"  # of a file of vectors, as in `read_vectors`

    def refuse(self, place: str, unread: Mapping[str, str]) -> None:
        """Raise an error for a given option among `unread`, which have no effect for a reason."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in unread and value != field.default:
                flag = {"vocabulary": "tokenizer", "bad_rows": "bad-rows"}.get(
                    field.name, field.name
                )
                raise DataError(f"Omit --{flag} {value}, because {place} {unread[field.name]}")


def checked_form(source: Path, output: Path, choices: Choices, *, overwrite: bool) -> str:
    """Return the format of a file, `torch`, `theano` or `text`, after checks of all options."""
    if choices.kind is not None and choices.kind not in RELEASED_PARTS:
        raise DataError(f"kind must be one of {', '.join(RELEASED_PARTS)}, got {choices.kind!r}")
    form = _form(source)
    choices.refuse(str(source), UNREAD[form])
    _refuse_occupied(output, overwrite)
    return form


def _refuse_occupied(output: Path, overwrite: bool) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / "source.json").exists():
        raise DataError(f"{output} is not of `paraphrastic convert`. Choose another --output")
    if not overwrite:
        raise DataError(f"{output} has a converted model. Use another --output, or --overwrite")


def _form(path: Path) -> str:
    if not path.is_file():
        if any(parent.suffix == ".zip" for parent in path.parents):
            return "text"
        found = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {found}. Give a file of vectors, a .pickle or a .pt")
    with path.open("rb") as file:
        start = file.read(len(TORCH_START))
    if start.startswith(TORCH_START):
        return "torch"
    if start.startswith(b"PK") and zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (OSError, NotImplementedError, UnicodeDecodeError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is a damaged archive: {error}") from error
        return "torch" if any(name.endswith("/data.pkl") for name in names) else "text"
    is_pickle = start.startswith(b"\x80") or path.suffix in PICKLE_SUFFIXES
    return "theano" if is_pickle else "text"


@dataclass(frozen=True)
class Converted:
    """A converted release, in evaluation mode. `differences` has a sentence for each difference."""

    model: SentenceEncoderModel
    tokenizer: TextTokenizer
    kind: str
    differences: tuple[str, ...]


NORMALIZED = "Text is normalized: NFKC, ASCII quotes, single spaces."
NO_TOKEN = (
    "A text without known tokens has the zero vector; in the release it has the vector of "
    "UUUNKKK, or none."
)
SPLIT = (
    "Plain text is split into words and punctuation marks. The release expects text split by the "
    "Stanford tokenizer and splits it at spaces, as --spaced does."
)
WORD_MARKS = (
    "The releases also look up unknown words without a leading # (2016, 2017) or without "
    "punctuation marks (ParaNMT). Here they are unknown."
)


def filled(model: SentenceEncoderModel, state: Mapping[str, np.ndarray]) -> SentenceEncoderModel:
    """Load exactly the weights `state` into a model and set evaluation mode."""
    import torch

    tensors = {name: torch.from_numpy(np.array(array, np.float32)) for name, array in state.items()}
    model.load_state_dict(tensors, strict=True)
    return model.eval()
