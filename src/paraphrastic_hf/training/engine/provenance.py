"""Hashes of a run's texts and models, to detect changes before a run resumes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.storage.fingerprint import files_hash, named_hash
from paraphrastic_hf.errors import CheckpointError, RecipeError, refused
from paraphrastic_hf.io.files import content_hash, digest_of, read_json, write_json
from paraphrastic_hf.io.pairs import rows_of_dataset
from paraphrastic_hf.training.engine.paths import named_texts, named_weights, resolve_path
from paraphrastic_hf.training.engine.recipe import SourceArguments

FILE = "text.json"
MODEL = "model "  # prefix of the names of models in a stamp
Stamp = dict[str, str]


def text_stamp(
    recipe: Any,
    data_root: str | Path | None,
    datasets: Iterable[Any] = (),
    models: Iterable[tuple[str, str]] = (),
    files: Iterable[str] = (),
) -> Stamp:
    """Return hashes of the files and models in a recipe, of `datasets`, `models` and `files`.

    The hash of a missing file is an empty string. Corpora given by name, and datasets that can be
    read only once, are left out. `models` are pairs of a recipe key and a name.
    """
    found: Stamp = {}
    for path in [*named_texts(recipe), *files]:
        try:
            place = resolve_path(path, data_root)
            is_folder = place.is_dir()
            found[path] = digest_of(place, place.rglob("*")) if is_folder else content_hash(place)
        except RecipeError:  # a finished run no longer needs its files
            found[path] = ""
    for number, item in enumerate(datasets if isinstance(datasets, Sequence) else ()):
        dataset, source = item if isinstance(item, tuple) else (item, SourceArguments())
        if hasattr(dataset, "__len__"):
            found[f"dataset {number}"] = _of_rows(dataset, source)
    loadable = set(named_weights(recipe, models_only=True))
    for key, name in named_weights(recipe):
        stamp = weights_stamp(name, data_root, is_model=(key, name) in loadable)
        found[f"{MODEL}{key}: {name}"] = stamp
    for key, name in models:
        found[f"{MODEL}{key}: {name}"] = weights_stamp(name, "")
    return found


def weights_stamp(name: str, data_root: str | Path | None, *, is_model: bool = True) -> str:
    """Return the `files_hash` of a model, or an empty string if the model is not found."""
    try:
        path = resolve_path(name, data_root)
    except (RecipeError, OSError, ValueError):  # OSError: too long for a file name
        return named_hash(name) if is_model else ""
    return files_hash(path)


def keep_stamp(stamp: Stamp, work: Path, fix: str | None = None) -> None:
    """Write a stamp to a folder of tokenized text, which must not have a different stamp.

    `fix` is advice in the message, by default to remove the folder.
    """
    path = work / FILE
    fix = fix or f"remove the folder {work} and run the same command again"
    with refused(CheckpointError, f"{path} is damaged: {fix}"):
        first = read_json(path) if path.exists() else stamp
    refuse_other_text(first, stamp, f"The folder {work}", fix)
    work.mkdir(parents=True, exist_ok=True)
    write_json(path, first)


def refuse_other_text(first: Mapping[str, str], stamp: Stamp, what: str, fix: str) -> None:
    """Raise an error if the stamp of an earlier run or folder differs from `stamp`."""
    changed = [
        name
        for name in {**first, **stamp}
        if first.get(name) != stamp.get(name)
        and "" not in (first.get(name), stamp.get(name))
        # Runs that share text may have other models.
        and ((name in first and name in stamp) or not name.startswith(MODEL))
    ]
    if changed:
        kind = "another model" if changed[0].startswith(MODEL) else "other text"
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        name = changed[0].removeprefix(MODEL)
        raise CheckpointError(f"{what} was made with {kind} ({name}{more} changed): {fix}")


def _of_rows(dataset: Any, source: SourceArguments) -> str:
    digest = hashlib.sha256()
    columns, beside = source.columns, source.beside_columns
    for _, row in rows_of_dataset(dataset, name=source.name, columns=columns, beside=beside):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
