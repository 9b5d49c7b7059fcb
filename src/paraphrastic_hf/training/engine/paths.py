"""Resolve the paths, models and corpora that a recipe names."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.packaged_recipes import RECIPES
from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.load import DATA_ROOT_VARIABLE, find_source, load_dataset
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.training.engine.recipe import DatasetArguments


def find_data_root(data_root: str | Path | None) -> str | Path | None:
    """Return `data_root` if given, else the environment variable PARAPHRASTIC_DATA or None."""
    return data_root if data_root is not None else os.environ.get(DATA_ROOT_VARIABLE) or None


def resolve_path(path: str, data_root: str | Path | None) -> Path:
    """Return the first existing file or folder for a path in a recipe.

    The path is looked up in the data root, the working folder, and the texts packaged with recipes.
    A path that begins with `./` or `../` is looked up in the working folder first.
    """
    found, tried = _look_up(path, data_root)
    if found is None:
        fix = f"Set the data folder with --data or {DATA_ROOT_VARIABLE}."
        if "*" in path:
            fix += " To let the shell expand a pattern, write it without quotes."
        raise RecipeError(f"{path} does not exist, tried {tried}. {fix}")
    return found


def resolve_model(name: str, data_root: str | Path | None) -> str | Path:
    """Return the path of a model, or the name of a packaged model or Hub repository."""
    found, tried = _look_up(name, data_root)
    if found is not None:
        return found
    try:
        check_model_name(name)
    except ModelError as error:
        raise ModelError(f"{str(error).removesuffix('.')} (tried {tried})") from None
    return name


def named_texts(recipe: Any) -> list[str]:
    """Return the paths of the texts that a recipe names, without those of corpora."""
    sources = recipe.data.sources if hasattr(recipe, "data") else ()
    paths = [path for source in sources for path in (source.path, source.second) if path]
    development = getattr(getattr(recipe, "run", None), "development", None)
    return [*paths, development] if names_file(development) else paths


def named_weights(arguments: Any, *, models_only: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the dotted key and the name of every model and weight file that a recipe names.

    Example:
        >>> from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe
        >>> list(named_weights(MinimumRiskRecipe(start="runs/one")))
        [('start', 'runs/one'), ('cost.model', 'simile')]
    """
    for field in dataclasses.fields(arguments):
        value, names = getattr(arguments, field.name), field.metadata.get("names")
        for item in value if isinstance(value, list) else [value]:
            if dataclasses.is_dataclass(item):
                for key, name in named_weights(item, models_only=models_only):
                    yield f"{field.name}.{key}", name
            elif isinstance(item, str) and names and (names == "model" or not models_only):
                yield field.name, item


def _look_up(path: str, data_root: str | Path | None) -> tuple[Path | None, str]:
    """Return the first existing place of a path, and a list of all places for messages."""
    root = find_data_root(data_root)
    places = [Path(path)] if root is None else [Path(root) / path, Path(path)]
    if path.startswith(("./", "../")):
        places.reverse()
    if path.startswith("recipes/"):
        places.append(RECIPES.parent / path)
    tried = " and ".join(dict.fromkeys(str(place.absolute()) for place in places))
    return next((place for place in places if place.exists()), None), tried


def dataset_folder(dataset: DatasetArguments, data_root: str | Path | None) -> Path | None:
    """Return the folder with the files of a corpus, or None to download them.

    It is `data_dir`, else the data root or its subfolder `eval`. If `data_root` is given but lacks
    the corpus, return `data_root`, so that reading the corpus reports the missing files.
    """
    if dataset.data_dir is not None:
        return resolve_path(dataset.data_dir, data_root)
    root = find_data_root(data_root)
    found = None if root is None else corpus_folder(find_source(dataset.name), root)
    return Path(data_root) if found is None and data_root is not None else found


def open_dataset(dataset: DatasetArguments, split: str, data_root: str | Path | None) -> Any:
    """Stream the rows of the split `split` of a recipe's corpus. `dataset.split` is ignored."""
    folder = dataset_folder(dataset, data_root)
    return load_dataset(
        dataset.name, dataset.config, split, data_dir=folder, streaming=True, **dataset.options
    )
