"""Other people's vectors and models to a model directory of this package.

What each format holds is in `data/` (vectors as text, Theano's pickles, torch's files, all read
without running anything); what becomes of it in the modules beside this one.
"""

from __future__ import annotations

import zipfile
from dataclasses import asdict
from pathlib import Path

from paraphrastic_hf.conversion.kinds import KINDS
from paraphrastic_hf.conversion.paired import convert_paired
from paraphrastic_hf.conversion.release import (
    NO_TOKEN,
    NORMALIZED,
    SPLIT,
    WORD_MARKS,
    Choices,
    Converted,
)
from paraphrastic_hf.conversion.theano import convert_theano
from paraphrastic_hf.conversion.vocabulary import (
    UNKNOWN,
    arrange,
    look_like_trigrams,
    make_tokenizer,
)
from paraphrastic_hf.data.receive import sha256_of
from paraphrastic_hf.data.theano_file import read_theano
from paraphrastic_hf.data.torch_file import MAGIC, read_torch
from paraphrastic_hf.data.words import load_vectors
from paraphrastic_hf.encoding.directory import SENTENCE_ENCODER, averaging_model, save_model
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.files import replacing, write_json

TORCH_START = b"\x80\x02\x8a\x0a" + MAGIC.to_bytes(10, "little")
UNREAD = {  # choices that a format leaves no room for
    "text": dict.fromkeys(("vocabulary", "combine", "activation", "side"), "holds vectors as text"),
    "theano": {
        "side": "is a Theano release, of one language",
        "bad_rows": "is a Theano release, not text",
    },
    "torch": dict.fromkeys(("combine", "activation", "bad_rows"), "is a PyTorch release"),
}
PICKLE_SUFFIXES = (".pickle", ".pkl", ".p")


def convert(
    source: str | Path,
    output: str | Path,
    choices: Choices | None = None,
    *,
    overwrite: bool = False,
    progress: bool = False,
) -> Converted:
    """Make a model directory of a released model or a file of vectors.

    The directory loads with `AutoModel`, `SentenceTransformer` and `SentenceEncoder`;
    `source.json` in it says what it was made of.

    Args:
        source: Vectors in GloVe's text format (also .gz, .xz, .zip), a Theano release (.pickle) or
            a PyTorch release (.pt). Nothing in it is run.
        output: Directory to write, complete or not at all.
        choices: What the file does not say.
        overwrite: Replace an earlier conversion in `output`.
        progress: Show a bar while text is read.

    Raises:
        DataError: The file is damaged, of no known kind, holds code, or leaves a choice open; or
            `output` holds something else.

    Example:
        >>> convert("paragram-phrase-XXL.txt", "runs/paragram")  # doctest: +SKIP
    """
    path, choices = Path(source), choices or Choices()
    if choices.kind is not None and choices.kind not in KINDS:
        raise DataError(f"kind must be one of {', '.join(KINDS)}, got {choices.kind!r}")
    form = _form(path)
    choices.refuse(str(path), UNREAD[form])
    _refuse_occupied(Path(output), overwrite)
    if form == "torch":
        converted = convert_paired(read_torch(path), path, choices)
    elif form == "theano":
        converted = convert_theano(read_theano(path), str(path), choices)
    else:
        converted = convert_vectors(path, choices, progress=progress)
    provenance = {
        "file": path.name,
        "sha256": _sha256(path),
        "format": form,
        "kind": converted.kind,
        "choices": {k: v for k, v in asdict(choices).items() if v not in (None, False)},
        "differences": list(converted.differences),
    }
    try:
        with replacing(Path(output), is_shared=True) as partial:
            save_model(converted.model, converted.tokenizer, partial, SENTENCE_ENCODER)
            write_json(partial / "source.json", provenance)
    except OSError as error:
        raise DataError(f"cannot write {output}: {error}") from error
    return converted


def _refuse_occupied(output: Path, overwrite: bool) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / "source.json").exists():
        raise DataError(f"{output} is there, and is no conversion: choose another --output")
    if not overwrite:
        raise DataError(
            f"{output} holds a conversion: choose another --output, or give --overwrite"
        )


def convert_vectors(path: Path, choices: Choices, *, progress: bool = False) -> Converted:
    """The average of a file's vectors: of words (PARAGRAM-PHRASE; thesis, 3.1.2) or, if all entries
    have three characters, of trigrams.

    Raises:
        DataError: The file is bad, or another kind was asked for.
    """
    if choices.kind not in (None, "words", "trigrams"):
        raise DataError(
            f"{path} holds vectors as text, of --kind words or trigrams, not {choices.kind}"
        )
    entries, table = load_vectors(path, bad_rows=choices.bad_rows, progress=progress)
    row_of = {entry: row for row, entry in enumerate(entries)}
    kind = choices.kind or ("trigrams" if look_like_trigrams(row_of) else "words")
    tokens, table = arrange(row_of, table, str(path))
    tokenizer = make_tokenizer(
        tokens,
        is_words=kind == "words",
        lowercase=not choices.cased,
        keep_unknown=UNKNOWN in row_of,
        spaced=choices.spaced,
    )
    differences = [NORMALIZED, NO_TOKEN]
    if kind == "words":
        differences += [WORD_MARKS] if choices.spaced else [WORD_MARKS, SPLIT]
    return Converted(averaging_model(table), tokenizer, kind, tuple(differences))


def _form(path: Path) -> str:
    """`torch`, `theano` or `text`, by how the file starts."""
    if not path.is_file():
        if any(parent.suffix == ".zip" for parent in path.parents):
            return "text"
        found = "is a folder" if path.is_dir() else "is not there"
        raise DataError(f"{path} {found}; give a file of vectors, a .pickle or a .pt")
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


def _sha256(path: Path) -> str:
    """Of the file, or of the archive that it is in."""
    file = next(parent for parent in (path, *path.parents) if parent.is_file())
    return sha256_of(file)
