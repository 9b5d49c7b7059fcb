"""Convert released vectors and models to a model directory of this package.

No code in the files is run.
"""

from dataclasses import asdict
from pathlib import Path

from paraphrastic_hf.conversion.paired import convert_paired, read_torch
from paraphrastic_hf.conversion.release import (
    NO_TOKEN,
    NORMALIZED,
    SPLIT,
    WORD_MARKS,
    Choices,
    Converted,
    checked_form,
)
from paraphrastic_hf.conversion.theano import convert_theano
from paraphrastic_hf.conversion.theano_file import read_theano
from paraphrastic_hf.conversion.vocabulary import (
    UNKNOWN,
    arrange,
    look_like_trigrams,
    make_tokenizer,
)
from paraphrastic_hf.corpora.readers.words import load_vectors
from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, model_of_table, save_model
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import content_hash, naming, replacing, write_json


def convert(
    source: str | Path,
    output: str | Path,
    choices: Choices | None = None,
    *,
    overwrite: bool = False,
    progress: bool = False,
) -> Converted:
    """Convert a released model, Theano (.pickle) or PyTorch (.pt), or a file of vectors in GloVe's
    text format (also .gz, .xz, .zip) to a model directory. `source.json` records the origin.
    """
    path, choices = Path(source), choices or Choices()
    form = checked_form(path, Path(output), choices, overwrite=overwrite)
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
    with naming(output), replacing(Path(output), is_shared=True) as partial:
        save_model(converted.model, converted.tokenizer, partial, SENTENCE_ENCODER)
        write_json(partial / "source.json", provenance)
    return converted


def convert_vectors(path: Path, choices: Choices, *, progress: bool = False) -> Converted:
    """Convert vectors of words (PARAGRAM-PHRASE; thesis, 3.1.2) or trigrams to a model."""
    if choices.kind not in (None, "words", "trigrams"):
        raise DataError(
            f"{path} has vectors as text: --kind must be words or trigrams, got {choices.kind}"
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
    return Converted(model_of_table(Table.of(table)), tokenizer, kind, tuple(differences))


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file. For a path in an archive, hash the archive."""
    file = next(parent for parent in (path, *path.parents) if parent.is_file())
    return content_hash(file)
