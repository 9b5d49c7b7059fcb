"""Hyperparameter search on the development set (thesis, 3.2.2.1, 3.5.2, 3.7.2.3).

The output folder contains `recipe.yaml` (base recipe), `trials.jsonl`, `trials.md` and `trials.png`
(all trials), `best.yaml` and `best/` (best recipe and model).
"""

import hashlib
import itertools
import json
import logging
import math
import os
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import build, set_key, to_yaml
from paraphrastic_hf.errors import (
    BusyError,
    CheckpointError,
    ParaphrasticError,
    RecipeError,
    refused,
)
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
TRIALS = "trials.jsonl"

Settings = dict[str, Any]
Grid = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Trial:
    """Result of one run in a search."""

    settings: Settings  # values of the searched keys, by full key name
    score: float | None = None  # best development score, or None if the run failed
    step: int | None = None  # optimizer step with the best score
    seconds: float = 0.0  # wall time, without time before an interruption
    error: str | None = None  # error message of a failed run


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
        MissingExtraError: `tpe` requires Optuna, which is not installed.
        BusyError: Another process is searching in `output`.
        DataError: The files of the development set do not exist.
        CheckpointError: A checkpoint cannot be written, or `output` is damaged or was made with
            other text.

    Example:
        >>> from paraphrastic_hf import load_recipe
        >>> recipe = load_recipe("own.yaml", ["--sources", "mine.tsv"])  # doctest: +SKIP
        >>> best = tune(recipe, {"training.margin": [0.3, 0.6]}, "tuned")[0]  # doctest: +SKIP
    """
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
        done = _search(recipe, grid, output, sampler, trials, options)
    for folder in ("work", "trials"):
        shutil.rmtree(output / folder, ignore_errors=True)
    return done


def with_settings(recipe: ContrastiveRecipe, settings: Settings) -> ContrastiveRecipe:
    """Return a copy of a recipe with changed keys. Raise an error if they are invalid."""
    mapping = asdict(recipe)
    for key, value in settings.items():
        set_key(ContrastiveRecipe, mapping, key, value)
    changed = build(ContrastiveRecipe, mapping)
    check_encoders(changed)
    return changed


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
    if sampler == "tpe":
        require("tune", "optuna", what="the sampler tpe")
    if recipe.run.development == "none":
        raise RecipeError("A search requires a development set. Add --run.development clean")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise RecipeError("A search runs in one process. Start it without torchrun.")
    if trials is not None and trials < 1:
        raise RecipeError(f"trials must be at least 1, got {trials}")
    good: list[Settings] = []
    wrong: list[tuple[Settings, RecipeError]] = []
    for settings in _every(grid):
        try:
            with_settings(recipe, settings)
            good.append(settings)
        except RecipeError as error:
            wrong.append((settings, error))
    for settings, reason in wrong:
        for key, value in settings.items():
            if not any(other[key] == value for other in good):
                raise RecipeError(f"{key} {value!r} is invalid in every trial: {reason}")


def _read_finished(output: Path, grid: Grid) -> list[Trial]:
    """Return the trials of earlier calls that did not fail."""
    path = output / TRIALS
    if not path.exists():
        return []
    found = []
    with refused(CheckpointError, f"{path} is damaged. Use another --output"):
        for line in path.read_text(encoding="utf-8").splitlines():
            trial = Trial(**json.loads(line))
            settings = trial.settings
            if trial.score is None:
                continue
            if settings.keys() != grid.keys() or any(settings[k] not in grid[k] for k in grid):
                raise RecipeError(
                    f"{output} contains trials of another grid, such as {_listed(settings)}. Use "
                    "all keys and values of that grid, or another --output."
                )
            found.append(replace(trial, settings={key: settings[key] for key in grid}))
    return found


def _search(
    recipe: ContrastiveRecipe,
    grid: Grid,
    output: Path,
    sampler: str,
    trials: int | None,
    options: dict[str, Any],
) -> list[Trial]:
    """Run the trials that are left. Return all trials, best first and failed trials last."""
    done = _read_finished(output, grid)
    most = min(math.prod(map(len, grid.values())), trials or math.inf)
    while len(done) < most:
        settings = _propose(done, grid, sampler, recipe.seed)
        logger.info("Trial %s of %s: %s", len(done) + 1, most, _listed(settings))
        trial = _run(settings, recipe, output, options)
        is_best = trial.score is not None and all(
            other.score is None or trial.score > other.score for other in done
        )
        _keep(trial, is_best, recipe, output)
        done.append(trial)
        lines = (json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in done)
        write_bytes(output / TRIALS, "".join(lines).encode("utf-8"))
        what = f"failed: {trial.error}" if trial.score is None else f"{trial.score:.2f}"
        logger.info("%s %s%s", recipe.run.development, what, " (best so far)" * is_best)
        _write_results(_ranked(done), grid, recipe.run.development, output)
    done = _ranked(done)
    if done[0].score is None:
        raise RecipeError(f"Every trial failed. Error of the first: {done[0].error}")
    return done


def _ranked(trials: list[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: math.inf if trial.score is None else -trial.score)


def _propose(done: Sequence[Trial], grid: Grid, sampler: str, seed: int) -> Settings:
    """Return the settings of the next trial, which differ from those of `done`."""
    tried = [_key(trial.settings) for trial in done]
    order = list(_every(grid))
    if sampler != "grid":
        random.Random(seed).shuffle(order)
    proposals = _proposals_of_tpe(done, grid, seed) if sampler == "tpe" else ()
    every = itertools.chain(proposals, order)
    return next(settings for settings in every if _key(settings) not in tried)


def _proposals_of_tpe(done: Sequence[Trial], grid: Grid, seed: int) -> Iterator[Settings]:
    import optuna
    from optuna.distributions import CategoricalDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Values are text, because Optuna supports no lists.
    space: dict[str, Any] = {
        key: CategoricalDistribution(list(map(_text, grid[key]))) for key in grid
    }
    study = optuna.create_study(direction="maximize")
    for trial in done:
        if trial.score is not None:
            params = {key: _text(value) for key, value in trial.settings.items()}
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=space, value=trial.score)
            )
    for attempt in range(TRIES):
        study.sampler = optuna.samplers.TPESampler(
            seed=(seed + len(done) * TRIES + attempt) % 2**32, n_startup_trials=5
        )
        texts = study.ask(space).params
        yield {key: next(v for v in grid[key] if _text(v) == texts[key]) for key in grid}


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
    title = f"# Trials by {literal(development)}"
    text = [title, "", *table(trials, development), "", "![](trials.png)", ""]
    write_bytes(output / "trials.md", "\n".join(text).encode("utf-8"))
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
    tokenizers = [asdict(encoder.tokenizer) for encoder in recipe.encoders]
    return _digest(
        [
            asdict(recipe)["data"],
            recipe.start or tokenizers,
            recipe.training.exclude,
            recipe.seed,
            recipe.run.development == "clean-and-bitext",  # it holds out pairs
        ]
    )


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()
