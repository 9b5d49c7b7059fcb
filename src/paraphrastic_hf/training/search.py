"""Hyperparameter search on the development set, with Optuna (thesis, 3.2.2.1, 3.5.2, 3.7.2.3).

The output folder contains `recipe.yaml` (base recipe), `optuna.log` (trials), `trials.md`,
`trials.tsv` and `trials.png` (results), `best.yaml` and `best/` (best recipe and model).
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import itertools
import json
import logging
import math
import os
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import build, set_key, to_mapping, to_yaml
from paraphrastic_hf.errors import BusyError, CheckpointError, ParaphrasticError, RecipeError
from paraphrastic_hf.extras import require
from paraphrastic_hf.hub.cards import run_card, write_card
from paraphrastic_hf.io.files import write_bytes
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.markdown import literal, markdown_table
from paraphrastic_hf.io.plots import COLORS, new_figure, png, style
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.development import read_development
from paraphrastic_hf.training.encoder.build import check_encoders
from paraphrastic_hf.training.engine.provenance import keep_stamp, text_stamp
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.engine.run_folder import claim
from paraphrastic_hf.training.engine.score_units import unit_of

logger = logging.getLogger(__name__)

SAMPLERS = ("grid", "random", "tpe")
TRIES = 20  # number of proposals of TPE before an untried setting is taken instead
STUDY = "optuna.log"

Settings = dict[str, Any]
Grid = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Trial:
    """Result of one run in a search.

    Attributes:
        settings: Values of the searched keys, by full key name.
        score: Best development score of the run, or None if it failed.
        step: Optimizer step with the best score.
        seconds: Wall time of the run, without time before an interruption.
        error: Error message of a failed run.
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
    progress: bool = True,
) -> list[Trial]:
    """Train models with settings from a grid. Write the best recipe and model to `output`.

    The same call resumes an interrupted search, and repeats failed trials. The grid may then have
    additional values.

    Args:
        recipe: Base recipe of all trials, with a development set.
        grid: Values of each searched key, by full key name, such as `training.margin`.
        output: Output folder of the search.
        sampler: `grid` tries settings in order, `random` in a random order, and `tpe` prefers
            settings near high scores (Bergstra et al., 2011).
        trials: Maximum number of trials, including those of an earlier call. None for all settings.
        data_root: As in `train`.
        datasets: As in `train`.
        progress: Show progress bars.

    Returns:
        All trials, best first, failed trials last.

    Raises:
        RecipeError: The recipe has no development set, a value is invalid in every trial, every
            trial failed, there are several processes, or `output` contains other files or another
            grid.
        MissingExtraError: Optuna is not installed.
        BusyError: Another process is searching in `output`.
        DataError: The files of the development set do not exist.
        CheckpointError: A checkpoint cannot be written, or `output` is damaged or was made with
            other text.

    Example:
        >>> from paraphrastic_hf import load_recipe
        >>> recipe = load_recipe("own.yaml", ["--sources", "mine.tsv"])  # doctest: +SKIP
        >>> best = tune(recipe, {"training.margin": [0.3, 0.6]}, "tuned")[0]  # doctest: +SKIP
    """
    require("tune", "optuna", what="a search")
    output = Path(output)
    _check(recipe, grid, sampler, trials)
    if "run.development" not in grid:
        read_development(recipe.run.development, data_root)  # may raise, before any trial
    options = {
        "data_root": data_root,
        "datasets": [_rereadable(item) for item in datasets],
        "progress": progress,
    }
    with locked(output):
        claim(output, recipe, overwrite=False)
        keep_stamp(text_stamp(recipe, data_root, datasets), output, "use another --output")
        study = _open_study(output, grid)
        _search(study, recipe, grid, output, sampler, trials, options)
    for folder in ("work", "trials"):
        shutil.rmtree(output / folder, ignore_errors=True)
    return results(study, grid)


def with_settings(recipe: ContrastiveRecipe, settings: Settings) -> ContrastiveRecipe:
    """Return a copy of a recipe with changed keys. Raise an error if they are invalid."""
    mapping = copy.deepcopy(to_mapping(recipe))
    for key, value in settings.items():
        set_key(ContrastiveRecipe, mapping, key, value)
    changed = build(ContrastiveRecipe, mapping)
    check_encoders(changed)
    return changed


def results(study: Any, grid: Grid) -> list[Trial]:
    """Return the trials of an Optuna study, best first and failed trials last."""
    values = {key: {_text(value): value for value in grid[key]} for key in grid}
    trials = [
        Trial(
            {key: values[key][trial.params[key]] for key in grid}, trial.value, **trial.user_attrs
        )
        for trial in study.trials
        if trial.user_attrs  # empty for an interrupted or repeated proposal
    ]
    return sorted(trials, key=lambda trial: math.inf if trial.score is None else -trial.score)


def table(trials: Sequence[Trial], development: str) -> list[str]:
    keys = list(trials[0].settings)
    rows = [
        [
            "failed" if t.score is None else f"{t.score:.2f}",
            *(str(t.settings[key]) for key in keys),
            "" if t.step is None else f"{t.step:,}",
            f"{t.seconds:.0f}",
        ]
        for t in trials
    ]
    columns = [f"{development} ({unit_of(development)})", *keys, "step", "seconds"]
    lines = markdown_table(columns, rows, "r" + "l" * len(keys) + "rr")
    errors = [f"* {literal(f'{_listed(t.settings)} failed: {t.error}')}" for t in trials if t.error]
    return [*lines, "", *errors] if errors else lines


def _check(recipe: ContrastiveRecipe, grid: Grid, sampler: str, trials: int | None) -> None:
    if sampler not in SAMPLERS:
        raise RecipeError(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
    if recipe.run.development == "none":
        raise RecipeError("A search requires a development set. Add --run.development clean")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise RecipeError("A search runs in one process. Start it without torchrun.")
    if trials is not None and trials < 1:
        raise RecipeError(f"trials must be at least 1, got {trials}")
    good: list[Settings] = []
    refused: list[tuple[Settings, RecipeError]] = []
    for settings in _every(grid):
        try:
            with_settings(recipe, settings)
            good.append(settings)
        except RecipeError as error:
            refused.append((settings, error))
    for settings, reason in refused:
        for key, value in settings.items():
            if not any(other[key] == value for other in good):
                raise RecipeError(f"{key} {value!r} is invalid in every trial: {reason}")


def _open_study(output: Path, grid: Grid) -> Any:
    """Create a study with the finished trials in the folder.

    Each call of `tune` needs a new study, because Optuna cannot add values to an existing one.
    """
    import optuna
    from optuna.storages import JournalStorage, journal

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, path = _space(grid), output / STUDY
    try:
        storage = JournalStorage(journal.JournalFileBackend(str(path)))
        names = optuna.get_all_study_names(storage)
        earlier = [optuna.load_study(study_name=name, storage=storage) for name in names]
        finished = (optuna.trial.TrialState.COMPLETE,)
        found = max((study.get_trials(states=finished) for study in earlier), key=len, default=[])
        for trial in found:
            is_known = all(trial.params.get(key) in space[key].choices for key in space)
            if not is_known or trial.params.keys() != space.keys():
                raise RecipeError(
                    f"{output} contains trials of another grid, such as "
                    f"{_listed(trial.params)}. Use all keys and values of that grid, or another "
                    "--output."
                )
        study = optuna.create_study(
            storage=storage, study_name=str(len(names)), direction="maximize"
        )
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RecipeError):
            raise
        raise CheckpointError(f"{path} is damaged ({error}). Use another --output.") from error
    study.add_trials(
        optuna.trial.create_trial(
            params=trial.params, distributions=space, value=trial.value, user_attrs=trial.user_attrs
        )
        for trial in found
    )
    return study


def _search(
    study: Any,
    recipe: ContrastiveRecipe,
    grid: Grid,
    output: Path,
    sampler: str,
    trials: int | None,
    options: dict[str, Any],
) -> None:
    from optuna.trial import TrialState

    most = min(math.prod(map(len, grid.values())), trials or math.inf)
    done = results(study, grid)
    while len(done) < most:
        trial = _ask(study, grid, sampler, recipe.seed, [_key(each.settings) for each in done])
        settings = {
            key: next(value for value in grid[key] if _text(value) == text)
            for key, text in trial.params.items()
        }
        logger.info("Trial %s of %s: %s", len(done) + 1, most, _listed(settings))
        result = _run(settings, recipe, output, options)
        is_best = result.score is not None and all(
            other.score is None or result.score > other.score for other in done
        )
        _keep(result, is_best, recipe, output)
        for name in ("step", "seconds", "error"):
            trial.set_user_attr(name, getattr(result, name))
        study.tell(trial, result.score, state=None if result.score is not None else TrialState.FAIL)
        what = f"failed: {result.error}" if result.score is None else f"{result.score:.2f}"
        logger.info("%s %s%s", recipe.run.development, what, " (best so far)" * is_best)
        done = results(study, grid)
        _write_results(done, grid, recipe.run.development, output)
    if done[0].score is None:
        raise RecipeError(f"Every trial failed. Error of the first: {done[0].error}")


def _ask(study: Any, grid: Grid, sampler: str, seed: int, tried: list[tuple[str, ...]]) -> Any:
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState

    space = _space(grid)
    for attempt in range(TRIES if sampler == "tpe" else 0):
        study.sampler = TPESampler(
            seed=(seed + len(tried) * TRIES + attempt) % 2**32, n_startup_trials=5
        )
        trial = study.ask(space)
        if tuple(trial.params[key] for key in grid) not in tried:
            return trial
        study.tell(trial, state=TrialState.FAIL)
    order = list(_every(grid))
    if sampler != "grid":
        random.Random(seed).shuffle(order)
    settings = next(each for each in order if _key(each) not in tried)
    study.enqueue_trial({key: _text(value) for key, value in settings.items()})
    return study.ask(space)


def _run(
    settings: Settings, base: ContrastiveRecipe, output: Path, options: dict[str, Any]
) -> Trial:
    started = time.perf_counter()
    try:
        recipe = with_settings(base, settings)
        work = output / "work" / _corpus_name(recipe)
        result = train(recipe, output / "trials" / _digest(settings), work=work, **options)
    except (CheckpointError, BusyError):
        raise  # a full disk or a second process is not the fault of the settings
    except (ParaphrasticError, ValueError, RuntimeError) as error:
        return Trial(settings, seconds=time.perf_counter() - started, error=str(error))
    seconds = round(time.perf_counter() - started, 1)
    return Trial(settings, result.best_score, result.best_step, seconds)


def _keep(trial: Trial, is_best: bool, recipe: ContrastiveRecipe, output: Path) -> None:
    """Move a trial's model to `best/` if it is the best, else remove it unless the run failed."""
    folder = output / "trials" / _digest(trial.settings)
    if not is_best:
        if trial.score is not None:
            shutil.rmtree(folder)
        return
    shutil.rmtree(output / "best", ignore_errors=True)
    folder.rename(output / "best")
    write_card(output / "best", run_card(output / "best"))  # the card contains the folder name
    head = f"# {recipe.run.development} {trial.score:.2f} with {_listed(trial.settings)}\n"
    text = head + to_yaml(with_settings(recipe, trial.settings))
    write_bytes(output / "best.yaml", text.encode("utf-8"))


def _write_results(trials: Sequence[Trial], grid: Grid, development: str, output: Path) -> None:
    keys = list(trials[0].settings)
    title = f"# Trials by {literal(development)}"
    text = [title, "", *table(trials, development), "", "![](trials.png)", ""]
    write_bytes(output / "trials.md", "\n".join(text).encode("utf-8"))
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([development, *keys, "step", "seconds", "error"])
    for t in trials:
        writer.writerow([t.score, *(t.settings[key] for key in keys), t.step, t.seconds, t.error])
    write_bytes(output / "trials.tsv", file.getvalue().encode("utf-8"))
    _plot(trials, grid, f"Trials by {development}, {unit_of(development)}", output / "trials.png")


def _plot(trials: Sequence[Trial], grid: Grid, title: str, path: Path) -> None:
    done = [(each.settings, each.score) for each in trials if each.score is not None]
    keys = [key for key, values in grid.items() if len(values) > 1] or list(grid)
    figure = new_figure(3.5 * len(keys), 3.5)
    for number, key in enumerate(keys, 1):
        axes = figure.add_subplot(1, len(keys), number)
        texts = list(map(_text, grid[key]))
        places = [texts.index(_text(settings[key])) for settings, _ in done]
        axes.scatter(places, [score for _, score in done], s=24, alpha=0.7, color=COLORS[0])
        axes.set_xticks(range(len(texts)), texts)
        axes.set_xlim(-0.5, len(texts) - 0.5)
        style(axes, key, grid="y")
    write_bytes(path, png(figure, title))


def _every(grid: Grid) -> Iterator[Settings]:
    """Yield all settings of a grid. The last key changes fastest."""
    return (dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values()))


def _space(grid: Grid) -> dict[str, Any]:
    """Convert a grid to Optuna distributions, with values as text: Optuna supports no lists."""
    from optuna.distributions import CategoricalDistribution

    return {key: CategoricalDistribution(list(map(_text, values))) for key, values in grid.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _key(settings: Settings) -> tuple[str, ...]:
    return tuple(map(_text, settings.values()))


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def _rereadable(item: Any) -> Any:
    """Return a dataset that can be read several times."""
    if isinstance(item, tuple):
        return _rereadable(item[0]), *item[1:]
    return list(item) if isinstance(item, Iterator) else item


def _corpus_name(recipe: ContrastiveRecipe) -> str:
    """Return a hash of the settings that determine the tokenizer and the tokenized pairs."""
    tokenizers = [to_mapping(encoder.tokenizer) for encoder in recipe.encoders]
    return _digest(
        [
            to_mapping(recipe)["data"],
            recipe.start or tokenizers,
            recipe.training.exclude,
            recipe.seed,
            recipe.run.development == "clean-and-bitext",  # it holds out pairs
        ]
    )


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()
