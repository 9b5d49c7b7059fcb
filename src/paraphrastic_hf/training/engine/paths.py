"""Where what a recipe names is: files and models under the data root or the working folder, and
corpora by name."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.packaged_recipes import RECIPES
from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.load import DATA_ROOT_VARIABLE, find_source, load_dataset
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.training.engine.recipe import DatasetArguments


def find_data_root(data_root: str | Path | None) -> str | Path | None:
    """The folder that a recipe's paths start from: the one given, else that of the variable
    PARAPHRASTIC_DATA, else None."""
    return data_root if data_root is not None else os.environ.get(DATA_ROOT_VARIABLE) or None


def resolve_path(path: str, data_root: str | Path | None) -> Path:
    """A recipe's path: absolute, or under the data root, or, if it is not there, under the working
    folder, or a text that comes with the package's recipes. The working folder comes first for one
    that begins with `./` or `../`."""
    places = _places(path, data_root)
    for place in places:
        if place.exists():
            return place
    way_out = f"name its folder with --data or {DATA_ROOT_VARIABLE}"
    if "*" in path:
        way_out += "; names are taken as they are, and patterns are for the shell, without quotes"
    raise RecipeError(f"{path} is not there: nothing is at {_listed(places)}; {way_out}")


def resolve_model(name: str, data_root: str | Path | None) -> str | Path:
    """Where a recipe's model is: a path as of `resolve_path`, or else the name as it is, of a
    packaged model or a Hub repository."""
    places = _places(name, data_root)
    for place in places:
        if place.exists():
            return place
    try:
        check_model_name(name)
    except ModelError as error:
        raise ModelError(f"{error} (it was looked for at {_listed(places)})") from None
    return name


def named_weights(arguments: Any, *, models_only: bool = False) -> Iterator[tuple[str, str]]:
    """Every model, and every other file of weights, that a recipe names, with its dotted key.

    Args:
        arguments: An instance of a dataclass whose fields were made by `argument`.

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


def _places(path: str, data_root: str | Path | None) -> list[Path]:
    root = find_data_root(data_root)
    under_root = [] if root is None else [Path(root) / path]
    packaged = [RECIPES.parent / path] if path.startswith("recipes/") else []
    is_here = path.startswith(("./", "../"))
    first = [Path(path), *under_root] if is_here else [*under_root, Path(path)]
    return [*first, *packaged]


def _listed(places: Iterable[Path]) -> str:
    return " or ".join(dict.fromkeys(str(place.absolute()) for place in places))


def dataset_folder(dataset: DatasetArguments, data_root: str | Path | None) -> Path | None:
    """Where a corpus's files are: the recipe's folder, else the data root's or its `eval` folder
    if the corpus lies there, else the data root that was given, where they will be missed. None if
    they are to be downloaded: the corpus is not in the folder of PARAPHRASTIC_DATA."""
    if dataset.data_dir is not None:
        return resolve_path(dataset.data_dir, data_root)
    root = find_data_root(data_root)
    found = None if root is None else corpus_folder(find_source(dataset.name), root)
    return Path(data_root) if found is None and data_root is not None else found


def open_dataset(dataset: DatasetArguments, split: str, data_root: str | Path | None) -> Any:
    """The rows of a split of a recipe's corpus, read as they are asked for.

    Args:
        dataset: The corpus; its own `split` does not matter.
    """
    folder = dataset_folder(dataset, data_root)
    return load_dataset(
        dataset.name, dataset.config, split, data_dir=folder, streaming=True, **dataset.options
    )
