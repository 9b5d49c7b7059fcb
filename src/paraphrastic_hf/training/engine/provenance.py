"""What a run began with, its text and the models that it names, so that none goes on, or is taken
for finished, with others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.encoders.storage.fingerprint import files_hash, named_hash
from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.io.files import content_hash, digest_of, read_json, write_json
from paraphrastic_hf.io.pairs import rows_of_dataset
from paraphrastic_hf.training.engine.paths import named_weights, resolve_path
from paraphrastic_hf.training.engine.recipe import SourceArguments

FILE = "text.json"
MODEL = "model "  # begins what the stamp calls a model, before its key
Stamp = dict[str, str]


def text_stamp(
    recipe: Any,
    data_root: str | Path | None,
    datasets: Iterable[Any] = (),
    models: Iterable[tuple[str, str]] = (),
) -> Stamp:
    """The hash of every file that a recipe reads, of every dataset beside it and of every model
    that it names; empty for those that do not exist or are out of reach.

    Corpora, and datasets that can be read once only, are not among them.

    Args:
        datasets: As of `sources.read_sources`.
    """
    found: Stamp = {}
    sources = recipe.data.sources if hasattr(recipe, "data") else ()
    paths = [path for source in sources for path in (source.path, source.second) if path]
    development = getattr(getattr(recipe, "run", None), "development", None)
    for path in [*paths, *([development] if names_file(development) else [])]:
        try:
            found[path] = _of_files(resolve_path(path, data_root))
        except RecipeError:  # what has been read may be gone
            found[path] = ""
    for number, item in enumerate(datasets if isinstance(datasets, Sequence) else ()):
        dataset, source = item if isinstance(item, tuple) else (item, SourceArguments())
        if hasattr(dataset, "__len__"):
            found[f"dataset {number}"] = _of_rows(dataset, source)
    loadable = set(named_weights(recipe, models_only=True))
    for each in named_weights(recipe):
        key, name = each
        stamp = weights_stamp(name, data_root, is_model=each in loadable)
        found[f"{MODEL}{key}: {name}"] = stamp
    for key, name in models:
        found[f"{MODEL}{key}: {name}"] = weights_stamp(name, "")
    return found


def weights_stamp(name: str, data_root: str | Path | None, *, is_model: bool = True) -> str:
    """The `files_hash` of a model; empty if nothing is known of it.

    Args:
        data_root: Folder that it may start from; the working folder if empty.
    """
    try:
        path = resolve_path(name, data_root)
    except (RecipeError, OSError, ValueError):  # OSError: a command line longer than a file name
        return named_hash(name) if is_model else ""
    return files_hash(path)


def keep_stamp(stamp: Stamp, work: Path, way_out: str | None = None) -> None:
    """Write the stamp of the text that a folder of tokenized text is made of; refuse a folder that
    has been begun with other text.

    Args:
        stamp: What `text_stamp` gave.
        way_out: What to do about other text; to remove the folder if None.
    """
    path = work / FILE
    remove = f"remove the folder {work} and run the same command again"
    try:
        begun = read_json(path) if path.exists() else stamp
    except ValueError as error:
        raise CheckpointError(
            f"{path}, which says what text it has, is damaged; {remove}"
        ) from error
    refuse_other_text(begun, stamp, f"the folder {work}", way_out or remove)
    work.mkdir(parents=True, exist_ok=True)
    write_json(path, begun)


def refuse_other_text(begun: Mapping[str, str], stamp: Stamp, what: str, way_out: str) -> None:
    """Refuse text that is not what a run or a folder was begun with."""
    changed = [
        name
        for name in {**begun, **stamp}
        if begun.get(name) != stamp.get(name)
        and "" not in (begun.get(name), stamp.get(name))
        # an earlier version did not say which models, and runs that share text may name others
        and ((name in begun and name in stamp) or not name.startswith(MODEL))
    ]
    if changed:
        other = "another model" if changed[0].startswith(MODEL) else "other text"
        first = changed[0].removeprefix(MODEL)
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise CheckpointError(f"{what} is of {other} than {first}{more}; {way_out}")


def _of_files(path: Path) -> str:
    """Hash a file's contents, or the names and contents of all files of a folder."""
    return digest_of(path, path.rglob("*")) if path.is_dir() else content_hash(path)


def _of_rows(dataset: Any, source: SourceArguments) -> str:
    """A hash of the texts of a dataset's rows, as they are read."""
    digest = hashlib.sha256()
    beside = [str(column) for column in source.beside.values()]
    rows = rows_of_dataset(dataset, name=source.name, columns=source.columns, beside=beside)
    for _, row in rows:
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
