"""What a search tries, in which order: values of recipe keys, and three ways through them.

The next settings are a function of what has been tried and of the seed, so an interrupted search
goes on as it would have.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.parse_yaml import parse_yaml
from paraphrastic_hf.config.recipe import convert_key, full_key, read_recipe
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

SAMPLERS = ("grid", "random", "tpe")
TRIES = 20  # how often TPE may propose what has been tried before the first untried is taken

Settings = dict[str, Any]
Grid = Mapping[str, list[Any]]


def parse_grid(cls: type, texts: Sequence[str]) -> dict[str, list[Any]]:
    """`["margin=0.4,0.6"]` to `{"training.margin": [0.4, 0.6]}`.

    Values are YAML: `orders=[2,3],[2,3,4]` is two lists.

    Raises:
        RecipeError: No values, values twice, a key that `cls` does not have, or a value of
            another type than its key's.

    Example:
        >>> from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
        >>> parse_grid(ContrastiveRecipe, ["margin=0.4,0.6", "negatives=max,mix"])
        {'training.margin': [0.4, 0.6], 'training.negatives': ['max', 'mix']}
    """
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        key = full_key(cls, name.strip().removeprefix("--"))
        values = parse_yaml(f"[{listed}]", f"the values of {key} in {text[:80]!r}")
        values = [convert_key(cls, key, value) for value in values or []]
        if not values:
            raise RecipeError(f"{key} has no values to try: write {key}=FIRST,SECOND")
        if key in grid or len(set(map(repr, values))) < len(values):  # lists have no hash
            raise RecipeError(f"{key} or one of its values is given twice in the grid")
        grid[key] = values
    if not grid:
        raise RecipeError("there is nothing to search: give --grid KEY=FIRST,SECOND")
    return grid


def combinations(grid: Grid) -> int:
    """How many settings the grid has."""
    return math.prod(map(len, grid.values()))


def every(grid: Grid) -> Iterator[Settings]:
    """All settings of a grid, the last key changing fastest."""
    return (dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values()))


def propose(
    grid: Grid, sampler: str, seed: int, tried: Sequence[tuple[Settings, float | None]]
) -> Settings:
    """The next settings to try; not all have been.

    Args:
        grid: The values of each key.
        sampler: `grid`, in the order of `every`; `random`, in an order that the seed draws; `tpe`,
            where settings with high scores were found (Bergstra et al., 2011; optuna's).
        seed: Of the random choices.
        tried: Settings of the grid so far and their scores, higher is better; None for one that
            failed.

    Raises:
        RecipeError: There is no such sampler, or TPE is asked for and optuna is not installed.
    """
    if sampler not in SAMPLERS:
        raise RecipeError(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
    known = [settings for settings, _ in tried]
    if sampler == "tpe":
        ask = _tpe(grid, seed, tried)
        for _ in range(TRIES):
            settings = ask()
            if settings not in known:
                return settings
    order = list(every(grid))
    if sampler != "grid":
        random.Random(seed).shuffle(order)
    return next(settings for settings in order if settings not in known)


def _tpe(
    grid: Grid, seed: int, tried: Sequence[tuple[Settings, float | None]]
) -> Callable[[], Settings]:
    """Proposals of optuna's TPE sampler, given what has been tried.

    A value is told by its number in the list: optuna's own are strings and numbers only.
    """
    try:
        import optuna
    except ImportError as error:
        raise RecipeError(
            "--sampler tpe needs optuna: pip install 'paraphrastic-hf[tune]', or take random"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space: dict[str, Any] = {
        key: optuna.distributions.CategoricalDistribution(range(len(values)))
        for key, values in grid.items()
    }
    sampler = optuna.samplers.TPESampler(seed=seed + len(tried), n_startup_trials=5)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for settings, score in tried:
        if score is not None:
            places = {key: grid[key].index(settings[key]) for key in grid}
            study.add_trial(
                optuna.trial.create_trial(params=places, distributions=space, value=score)
            )

    def ask() -> Settings:
        places = study.ask(space).params
        return {key: grid[key][place] for key, place in places.items()}

    return ask


def check_search(recipe: ContrastiveRecipe, output: Path, trials: int | None) -> None:
    """Refuse a search that cannot be, before anything is loaded.

    Args:
        recipe: What all trials share.
        output: Folder of the search.
        trials: Most trials; None for all settings.

    Raises:
        RecipeError: There is no development set, several processes run, `trials` is below 1, or
            `output` holds something else.
    """
    if recipe.run.development == "none":
        raise RecipeError("a search needs a development set: --development clean")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise RecipeError("a search runs in one process: start it without torchrun")
    if trials is not None and trials < 1:
        raise RecipeError(f"trials must be at least 1, got {trials}")
    refuse_other_search(recipe, output)


def refuse_other_search(recipe: ContrastiveRecipe, output: Path) -> None:
    """Refuse a folder that holds another search, or something else.

    Raises:
        RecipeError: It holds one.
    """
    record = output / "recipe.yaml"
    if record.exists():
        if read_recipe(type(recipe), record) != recipe:
            raise RecipeError(
                f"{output} holds a search or run of another recipe; use another --output"
            )
    elif output.is_dir() and any(output.iterdir()):
        raise RecipeError(
            f"{output} is not empty and holds no search of this program; choose another --output"
        )
