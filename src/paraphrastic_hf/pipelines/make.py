"""Make a corpus from a recipe, or continue an interrupted run.

The output folder holds the corpus in `data/` and rejected rows in `rejects/`, both in parquet, the
card `README.md`, the results `corpus.json`, `recipe.yaml` and `logs/`. `work/` is removed at the
end.
"""

import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tqdm.auto import tqdm

from paraphrastic_hf.config.recipe import is_record, read_mapping, to_record, to_yaml
from paraphrastic_hf.errors import CheckpointError, DataError, RecipeError, counted
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import read_json, remove, visible_files, write_bytes, write_json
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.pipelines.card import corpus_card
from paraphrastic_hf.pipelines.deal import CORPUS, LICENSE, deal
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.recipe import PROGRAMS, CorpusRecipe, corpus_recipe
from paraphrastic_hf.pipelines.stages import KEPT, REJECTED, phases_of
from paraphrastic_hf.training.engine.paths import resolve_model
from paraphrastic_hf.training.engine.provenance import (
    Stamp,
    keep_stamp,
    refuse_other_text,
    text_stamp,
)

logger = logging.getLogger(__name__)

RECIPE, RECORD = "recipe.yaml", "corpus.json"
# The last marks the folder, so it is removed last.
CORPUS_FILES = ("data", "rejects", "logs", "work", "README.md", RECORD, RECIPE)
START_AFRESH = "use another --output, or start afresh with --overwrite"
ROW_KEYS = ("tasks", "block")  # keys of `make` that change the rows of a task
SPEED_KEYS = ("batch_tokens", "batch_size", "threads", "timeout")  # engine keys that keep the rows


@dataclass(frozen=True)
class StepCount:
    """Row counts and seconds of a step, summed over the tasks."""

    step: str
    kept: int
    rejected: int
    seconds: float


@dataclass(frozen=True)
class Made:
    """Result of making a corpus."""

    rows: int
    read: int
    seconds: float  # of the call that completed the corpus
    steps: list[StepCount]
    origins: list[tuple[str, str, int]]  # name, license and number of rows of each source
    unfinished: int = 0  # incomplete tasks, whose jobs are still running


def make_corpus(
    recipe: CorpusRecipe,
    output: str | os.PathLike[str],
    *,
    data_root: str | Path | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> Made:
    """Make a corpus of paraphrases, or continue one (thesis, 4.3). The recipe's paths are relative
    to `data_root`: by default PARAPHRASTIC_DATA, or else the working folder.
    """
    require("corpora", "datatrove", what="making a corpus")
    folder, begun = Path(output), time.monotonic()
    model = _model(recipe, data_root)
    with locked(folder, doing="making a corpus"):
        _claim(folder, recipe, overwrite)
        stamp = text_stamp(recipe, data_root, models=recipe.models(), files=recipe.excluded())
        if (folder / RECORD).exists():
            return _read_record(folder, stamp)
        keep_stamp(stamp, folder / "work", START_AFRESH)
        counts = _dealt(recipe, folder, data_root, progress)
        phases = phases_of(recipe, folder, counts, model, data_root)
        top = folder / "logs"
        logs = [*(top / f"before_{phase[0].name}" for phase in phases[1:]), top]
        with _bar(logs, counts, progress) as bar:
            for phase, place in zip(phases, logs, strict=True):
                unfinished = run_stages(phase, recipe.make, place, on_rows=bar.update)
                if unfinished:
                    seconds = time.monotonic() - begun
                    return Made(0, sum(counts), seconds, [], [], len(unfinished))
        made = _finish(folder, recipe, logs, sum(counts), stamp, begun)
    logger.info("%s: kept %s of %s", folder, counted(made.rows, "row"), counted(made.read, "pair"))
    return made


def _model(recipe: CorpusRecipe, data_root: str | Path | None) -> str | None:
    engine = recipe.engine
    if not recipe.is_bitext or engine.kind in PROGRAMS:
        return engine.model
    found = resolve_model(str(engine.model), data_root)
    return str(found.absolute()) if isinstance(found, Path) else found


def _claim(folder: Path, recipe: CorpusRecipe, overwrite: bool) -> None:
    record = folder / RECIPE
    is_ours = is_record(record) or (folder / RECORD).exists()
    if overwrite and is_ours:
        for name in CORPUS_FILES:
            remove(folder / name)
    if is_ours and not overwrite:
        _refuse_another(record, recipe)
    elif not is_ours and any(path.suffix != ".part" for path in folder.iterdir()):
        raise RecipeError(f"{folder} is not empty and not a corpus folder. Choose another --output")
    try:
        write_bytes(record, to_record(recipe))
    except OSError as error:
        raise CheckpointError(f"Cannot write to {folder}: {error}") from error


def _refuse_another(record: Path, recipe: CorpusRecipe) -> None:
    """Raise an error if the folder was started with a recipe that gives other rows."""
    folder = record.parent
    try:
        old = corpus_recipe(read_mapping(record))
    except RecipeError as error:
        raise RecipeError(f"{record} is damaged ({error}): {START_AFRESH}") from error
    make = replace(recipe.make, **{name: getattr(old.make, name) for name in ROW_KEYS})
    engine = replace(old.engine, **{name: getattr(recipe.engine, name) for name in SPEED_KEYS})
    old = replace(old, make=make, engine=engine)
    old_text = to_yaml(old).splitlines()
    new_text = to_yaml(recipe).splitlines()
    if old_text != new_text:
        changed = [line.strip() for line in new_text if line not in old_text]
        shown = "; ".join(changed[:6]) or "the order of entries"
        raise RecipeError(
            f"{folder} has a corpus of another recipe (changed: {shown}): {START_AFRESH}"
        )


def _dealt(
    recipe: CorpusRecipe, folder: Path, data_root: str | Path | None, progress: bool
) -> list[int]:
    rows = folder / "work" / "rows"
    try:
        return [int(count) for count in read_json(rows / "rows.json")]
    except (OSError, ValueError, TypeError):
        return deal(
            recipe.data,
            rows,
            recipe.make.tasks,
            by=recipe.dealt_by,
            data_root=data_root,
            progress=progress,
        )


def _bar(logs: Sequence[Path], counts: Sequence[int], progress: bool) -> Any:
    done = [int(path.name) for place in logs for path in place.glob("completions/[0-9]*")]
    return tqdm(
        total=sum(counts) * len(logs),
        initial=sum(counts[task] for task in done if task < len(counts)),
        desc="making",
        unit=" rows",
        unit_scale=True,
        disable=not progress,
    )


def _step_counts(logs: Path, tasks: int) -> list[StepCount]:
    """Return row counts and seconds of each step of a phase, summed over the tasks."""
    by_task = []
    for task in range(tasks):
        path = logs / "stats" / f"{task:05d}.json"
        try:
            by_task.append([_count_of(stage) for stage in read_json(path)])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is damaged ({error}). Remove it and {logs}/completions/{task:05d}, then "
                "repeat the command, which runs this task again"
            ) from error
    return [
        StepCount(
            counts[0].step,
            sum(count.kept for count in counts),
            sum(count.rejected for count in counts),
            sum(count.seconds for count in counts),
        )
        for counts in zip(*by_task, strict=True)
    ]


def _count_of(stage: dict[str, Any]) -> StepCount:
    counts = (stage["stats"].get(name, 0) for name in (KEPT, REJECTED))
    kept, rejected = (int(c["total"] if isinstance(c, dict) else c) for c in counts)
    name = stage["name"].removeprefix("corpus: ")
    return StepCount(name, kept, rejected, float(stage["time_stats"].get("total", 0.0)))


def _finish(
    folder: Path, recipe: CorpusRecipe, logs: Sequence[Path], read: int, stamp: Stamp, begun: float
) -> Made:
    steps = [step for place in logs for step in _step_counts(place, recipe.make.tasks)]
    origins: Counter[tuple[str, str]] = Counter()
    for path in visible_files(folder / "data", "*.parquet"):
        table = pq.read_table(path, columns=[CORPUS, LICENSE]).group_by([CORPUS, LICENSE])
        for row in table.aggregate([([], "count_all")]).to_pylist():
            origins[row[CORPUS], row[LICENSE]] += row["count_all"]
    rows = origins.total()
    if rows != steps[-1].kept:
        raise DataError(
            f"{folder}/data has {rows:,} rows, not {steps[-1].kept:,}. Remake it with --overwrite"
        )
    if not rows:
        worst = max(steps, key=lambda step: step.rejected)
        raise DataError(
            f"All {read:,} rows were left out, {worst.rejected:,} of them by the step "
            f"{worst.step}. Widen the bounds of that step (see the reasons in {folder}/rejects) "
            "and choose another --output"
        )
    seconds = time.monotonic() - begun
    listed = [(name, license, count) for (name, license), count in sorted(origins.items())]
    made = Made(rows, read, seconds, steps, listed)
    card = corpus_card(recipe, rows, read, [asdict(step) for step in steps], listed)
    write_bytes(folder / "README.md", card.encode("utf-8"))
    write_json(folder / RECORD, {**asdict(made), "text": stamp})
    shutil.rmtree(folder / "work", ignore_errors=True)
    return made


def _read_record(folder: Path, stamp: Stamp) -> Made:
    try:
        found = read_json(folder / RECORD)
        # Records of older corpora lack the key `text`.
        refuse_other_text(found.get("text", stamp), stamp, f"the corpus in {folder}", START_AFRESH)
        steps = [StepCount(**step) for step in found["steps"]]
        origins = [(name, license, count) for name, license, count in found["origins"]]
        return Made(found["rows"], found["read"], found["seconds"], steps, origins)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{folder / RECORD} is damaged ({error}). Make the corpus again with --overwrite"
        ) from error
