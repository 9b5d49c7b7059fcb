"""Detect the format of a release and check the options before reading it."""

from __future__ import annotations

import zipfile
from pathlib import Path

from paraphrastic_hf.conversion.kinds import RELEASED_PARTS
from paraphrastic_hf.conversion.release import Choices
from paraphrastic_hf.errors import DataError

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


def checked_form(source: Path, output: Path, choices: Choices, *, overwrite: bool) -> str:
    """Return the format of a file, `torch`, `theano` or `text`, after checks of all options.

    Raises:
        DataError: The file does not exist, an option does not apply, or `output` is not empty.
    """
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
        raise DataError(
            f"{output} exists, but `paraphrastic convert` did not write it. Choose another --output"
        )
    if not overwrite:
        raise DataError(
            f"{output} contains a converted model. Choose another --output, or pass --overwrite "
            "to replace it"
        )


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
