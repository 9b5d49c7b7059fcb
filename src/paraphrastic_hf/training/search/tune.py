"""A search for the settings of a recipe that do best on its development set.

The papers tune every system so: a grid of values of a few keys (thesis 3.2.2.1, 3.5.2, 3.7.2.3).
The folder of a search holds `recipe.yaml`, what it started from; `trials.json`, what has been
tried; `best.yaml`, a recipe with the best settings; and `best/`, the model trained by it. While it
runs there are `trials/`, the unfinished runs, and `work/`, the tokenized pairs they share.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import build, set_key, to_mapping, to_yaml
from paraphrastic_hf.errors import BusyError, CheckpointError, ParaphrasticError, RecipeError
from paraphrastic_hf.hub.cards import run_card, write_card
from paraphrastic_hf.io.files import read_json, write_bytes, write_json
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.development import read_development
from paraphrastic_hf.training.encoder.build import check_encoders
from paraphrastic_hf.training.engine.provenance import keep_stamp, text_stamp
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.search.space import (
    Grid,
    Settings,
    check_search,
    combinations,
    every,
    propose,
    refuse_other_search,
)

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One run of a search.

    Attributes:
        settings: Values of the keys searched over, by their dotted names.
        score: Best development score of the run; None if it failed.
        step: The mini-batch it was reached at.
        seconds: Wall time of the run, or of its last part if it was interrupted.
        error: Why it failed; None if it did not.
    """

    settings: Settings
    score: float | None = None
    step: int | None = None
    seconds: float = 0.0
    error: str | None = None


def tune(
    recipe: ContrastiveRecipe,
    grid: Grid,
    output: str | Path,
    *,
    sampler: str = "grid",
    trials: int | None = None,
    data_root: str | Path | None = None,
    datasets: Iterable[Any] = (),
    after_trial: Callable[[list[Trial]], object] | None = None,
    progress: bool = True,
) -> list[Trial]:
    """Train with settings of a grid and leave the best recipe and its model in `output`.

    Run again after an interruption it goes on: finished trials count, the one that was running
    resumes from its checkpoint, and those that failed are tried again. The grid may have grown.

    Args:
        recipe: What all trials share, with the development set that decides.
        grid: Values of each key; `search_space.parse_grid` reads one.
        output: Folder of the search.
        sampler: `grid`, `random` or `tpe`, as `search_space.propose` says.
        trials: Most trials, earlier ones included; all settings if absent.
        data_root: Folder that recipe paths start from, as `train` takes it.
        datasets: What to train on besides the recipe's sources, as `train` takes it; all trials
            see them.
        after_trial: Called with all trials so far, best first, after each.
        progress: Show progress bars.

    Returns:
        All trials, best first, failed ones last.

    Raises:
        RecipeError: No development set, several processes, a value that is wrong whatever the
            others, `output` holds another search, or no trial succeeded.
        BusyError: Another process searches there.
        DataError: The files of the development set are not there.
        CheckpointError: A checkpoint could not be written, or trials there are of other text.

    Example:
        >>> from paraphrastic_hf import load_recipe
        >>> recipe = load_recipe("own.yaml", ["--sources", "mine.tsv"])  # doctest: +SKIP
        >>> best = tune(recipe, {"training.margin": [0.3, 0.6]}, "tuned")[0]  # doctest: +SKIP
    """
    output = Path(output)
    check_search(recipe, output, trials)
    _refuse_wrong_values(recipe, grid)
    if "run.development" not in grid:
        read_development(recipe.run.development, data_root)  # refused before the first trial
    with locked(output):
        _claim(output, recipe)
        keep_stamp(text_stamp(recipe, data_root, datasets), output, "use another --output")
        return _search(
            recipe,
            grid,
            output,
            sampler=sampler,
            trials=trials,
            data_root=data_root,
            datasets=[_lasting(item) for item in datasets],
            after_trial=after_trial,
            progress=progress,
        )


def _search(
    recipe: ContrastiveRecipe,
    grid: Grid,
    output: Path,
    *,
    sampler: str,
    trials: int | None,
    data_root: str | Path | None,
    datasets: list[Any],
    after_trial: Callable[[list[Trial]], object] | None,
    progress: bool,
) -> list[Trial]:
    """Every trial that is left, in a folder that is this search's."""
    done = _read(output)
    most = min(combinations(grid), trials or combinations(grid))

    def run(settings: Settings, number: int) -> None:
        logger.info("trial %s of %s: %s", number, most, describe(settings))
        trial = _run(
            settings, recipe, output, data_root=data_root, datasets=datasets, progress=progress
        )
        is_best = trial.score is not None and trial.score > max(
            (other.score for other in done if other.score is not None), default=float("-inf")
        )
        done.append(trial)
        _keep(trial, is_best, recipe, output)
        write_json(output / "trials.json", [dataclasses.asdict(each) for each in done])
        what = f"failed: {trial.error}" if trial.score is None else f"{trial.score:.2f}"
        logger.info("%s %s%s", recipe.run.development, what, ", the best so far" * is_best)
        if after_trial is not None:
            after_trial(ranked(done))

    wanted = list(every(grid))
    failed = [t.settings for t in done if t.score is None and t.settings in wanted]
    done = [t for t in done if t.settings not in failed]
    while len(tried := [(t.settings, t.score) for t in done if t.settings in wanted]) < most:
        settings = failed.pop(0) if failed else propose(grid, sampler, recipe.seed, tried)
        run(settings, len(tried) + 1)
    if all(trial.score is None for trial in done):
        raise RecipeError(f"every trial failed, the first by: {done[0].error}")
    for folder in ("work", "trials"):
        shutil.rmtree(output / folder, ignore_errors=True)
    return ranked(done)


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Best first; equal ones in the order they were run, failed ones last."""
    return sorted(trials, key=lambda t: float("inf") if t.score is None else -t.score)


def describe(settings: Settings) -> str:
    """Settings in a line, keys by their last names."""
    return ", ".join(f"{key.rsplit('.', 1)[-1]} {value}" for key, value in settings.items())


def with_settings(recipe: ContrastiveRecipe, settings: Settings) -> ContrastiveRecipe:
    """A recipe with some keys set.

    Raises:
        RecipeError: A value is wrong, or does not go with the others.
    """
    mapping = copy.deepcopy(to_mapping(recipe))
    for key, value in settings.items():
        set_key(ContrastiveRecipe, mapping, key, value)
    changed = build(ContrastiveRecipe, mapping)
    check_encoders(changed)
    return changed


def _refuse_wrong_values(recipe: ContrastiveRecipe, grid: Grid) -> None:
    """Refuse a value with which no settings of the grid make a recipe."""
    good: list[Settings] = []
    refused: list[tuple[Settings, RecipeError]] = []
    for settings in every(grid):
        try:
            with_settings(recipe, settings)
            good.append(settings)
        except RecipeError as error:
            refused.append((settings, error))
    for settings, reason in refused:
        for key, value in settings.items():
            if not any(other[key] == value for other in good):
                raise RecipeError(f"{key} {value!r} fits no trial: {reason}")


def _lasting(item: Any) -> Any:
    """A dataset that every trial can read from its start."""
    if isinstance(item, tuple):
        return _lasting(item[0]), *item[1:]
    return list(item) if isinstance(item, Iterator) else item


def _claim(output: Path, recipe: ContrastiveRecipe) -> None:
    refuse_other_search(recipe, output)
    output.mkdir(parents=True, exist_ok=True)
    write_bytes(output / "recipe.yaml", to_yaml(recipe).encode("utf-8"))


def _read(output: Path) -> list[Trial]:
    path = output / "trials.json"
    if not path.exists():
        return []
    try:
        return [Trial(**values) for values in read_json(path)]
    except (ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged: {error}; mend it, or start over in another --output"
        ) from error


def _run(settings: Settings, base: ContrastiveRecipe, output: Path, **options: Any) -> Trial:
    """Train with some settings; what comes of it, also where nothing does."""
    started = time.perf_counter()
    try:
        recipe = with_settings(base, settings)
        result = train(
            recipe,
            _folder(output, settings),
            work=output / "work" / _corpus_name(recipe),
            **options,
        )
    except (CheckpointError, BusyError):
        raise  # a full disk, or another process, is no trait of the settings
    except (ParaphrasticError, ValueError, RuntimeError) as error:
        return Trial(settings, seconds=time.perf_counter() - started, error=str(error))
    return Trial(
        settings, result.best_score, result.best_step, round(time.perf_counter() - started, 1)
    )


def _keep(trial: Trial, is_best: bool, recipe: ContrastiveRecipe, output: Path) -> None:
    """The best model so far becomes `best`; others go. A failed run keeps its checkpoints."""
    folder = _folder(output, trial.settings)
    if not is_best:
        if trial.score is not None:
            shutil.rmtree(folder)
        return
    shutil.rmtree(output / "best", ignore_errors=True)
    folder.rename(output / "best")
    write_card(output / "best", run_card(output / "best"))  # which names its folder
    head = f"# {recipe.run.development} {trial.score:.2f} with {describe(trial.settings)}\n"
    text = head + to_yaml(with_settings(recipe, trial.settings))
    write_bytes(output / "best.yaml", text.encode("utf-8"))


def _folder(output: Path, settings: Settings) -> Path:
    return output / "trials" / _digest(settings)


def _corpus_name(recipe: ContrastiveRecipe) -> str:
    """Equal for recipes whose tokenizers and tokenized pairs are the same."""
    values = to_mapping(recipe)
    tokenizers = [encoder.tokenizer for encoder in recipe.encoders]
    held_out = ["held out"] * (recipe.run.development == "clean-and-bitext")
    exclude = recipe.training.exclude
    return _digest(
        [
            values["data"],
            recipe.start or [to_mapping(t) for t in tokenizers],
            exclude,
            recipe.seed,
            *held_out,
        ]
    )


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()
