"""Run a recipe of any kind, from data to a finished model directory.

The directory contains the model, `recipe.yaml` (all settings), `run.json` (results), `README.md`
(model card), `training.png`, `logs/` and `checkpoints/`. An unfinished run also has `work/`, with
the tokenizer and the tokenized text. Each kind of recipe has a `TrainingJob` (`kinds.py`).
"""

import logging
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors import SafetensorError

import paraphrastic_hf
from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.generation.search import is_out_of_memory
from paraphrastic_hf.hub.cards import run_card, write_card
from paraphrastic_hf.io.files import WEIGHTS, content_hash, write_json
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.training.data.corpus import has_columns
from paraphrastic_hf.training.data.sources import check_datasets, check_sources
from paraphrastic_hf.training.engine.curve import write_curve
from paraphrastic_hf.training.engine.loop import Evaluation, Objective, TrainingLoop
from paraphrastic_hf.training.engine.memory import LOWER
from paraphrastic_hf.training.engine.progress import Progress
from paraphrastic_hf.training.engine.provenance import Stamp, keep_stamp, text_stamp
from paraphrastic_hf.training.engine.run_folder import (
    claim,
    clear_work,
    finished_run,
    has_checkpoint,
    is_finished,
    lengthen,
    new_accelerator,
    refuse_own_start,
    remove_run,
)
from paraphrastic_hf.training.kinds import JOBS, Context, Recipe, TrainingJob

logger = logging.getLogger(__name__)


def train(
    recipe: Recipe,
    output: str | Path,
    *,
    data_root: str | Path | None = None,
    datasets: Iterable[Any] = (),
    overwrite: bool = False,
    progress: bool = True,
    work: str | Path | None = None,
) -> Progress:
    """Train the model that a recipe describes and write it to `output`.

    If the run is interrupted, the same call resumes it from the last checkpoint. On CPU with the
    same number of threads, the result is bit-identical.

    A finished run is trained longer if the recipe has more epochs or steps. The result equals that
    of a single run of this length, bit for bit if that run also evaluates and writes a checkpoint
    where the shorter run ended. Otherwise it can differ by rounding and by the choice or average of
    checkpoints, which then has one more to choose from.

    Args:
        recipe: All settings, for example from `load_recipe`.
        output: Directory of the finished model.
        data_root: Folder that relative paths in the recipe refer to. None means the environment
            variable PARAPHRASTIC_DATA, else the working folder.
        datasets: Additional training data: `datasets.Dataset` objects or iterables of mappings. A
            tuple `(dataset, SourceArguments)` also sets languages, a cap or a weight.
        overwrite: Replace another run in `output`.
        progress: Show progress bars.
        work: Folder for the tokenizer and the tokenized text, which several runs can share. If
            None, a temporary folder in `output`.

    Returns:
        Number of steps, examples and seconds, and the best development score.

    Raises:
        RecipeError: A setting is wrong, the model does not fit into memory, or `output` holds
            another run.
        BusyError: Another process is training in `output`.
        DataError: The data is missing, damaged or empty.
        ModelError: A model that the recipe starts from cannot be read.
        CheckpointError: All checkpoints are damaged, a checkpoint cannot be written, or `output` or
            `work` was made with other text or another model.
        TypeError: `recipe` is a name, or `datasets` is not a list of datasets.
        KeyboardInterrupt: Ctrl-C or, in the main thread, SIGTERM. Training in a single process has
            written a checkpoint, from which the same call resumes.

    Example:
        >>> from paraphrastic_hf.training.kinds import load_recipe
        >>> recipe = load_recipe("own.yaml", ["--sources", "mine.tsv"])  # doctest: +SKIP
        >>> train(recipe, "runs/mine", progress=False).best_score  # doctest: +SKIP
    """
    if isinstance(recipe, (str, Path)):
        raise TypeError(f"recipe must be a recipe, not its name: load_recipe({str(recipe)!r})")
    check_datasets(datasets)
    output = Path(output)
    context = Context(data_root, datasets, progress)
    job: TrainingJob | None = None
    if overwrite or not is_finished(output, recipe):  # a finished run does not need its data
        refuse_own_start(recipe, output, data_root)
        check_sources(recipe, data_root)
        job = JOBS[recipe.kind].load()(recipe, context)  # checks the recipe before files change
    accelerator = new_accelerator(recipe.training.precision)
    is_main = accelerator.is_main_process
    with locked(output, is_main):
        is_new = claim(output, recipe, overwrite) if is_main else False
        accelerator.wait_for_everyone()
        if job is None or is_finished(output, recipe):
            return finished_run(output, recipe, data_root, datasets)
        work = output / "work" if work is None else Path(work)
        is_begun = False
        stamp: Stamp = {}
        try:
            if is_main:
                with nullcontext() if work.parent == output else locked(work):
                    stamp = text_stamp(recipe, data_root, datasets)
                    lengthen(output, recipe, stamp)
                    keep_stamp(stamp, work)
                    if not has_columns(work / "corpus"):
                        job.prepare(work)
            accelerator.wait_for_everyone()
            torch.manual_seed(recipe.seed)
            model = job.build(work).to(accelerator.device)
            objective = job.objective(model, accelerator)
            is_begun = True
            return _train(recipe, job, model, objective, output, stamp, accelerator, progress)
        except Exception as error:
            no_memory = is_out_of_memory(error)
            if is_main and is_new and (no_memory or not is_begun) and not has_checkpoint(output):
                remove_run(output)  # so that a corrected recipe can use the folder
            if no_memory:
                reason = str(error).partition("\n")[0]
                raise RecipeError(f"Out of memory ({reason}): {LOWER}") from error
            raise


def _train(
    recipe: Recipe,
    job: TrainingJob,
    model: Any,
    objective: Objective,
    output: Path,
    stamp: Stamp,
    accelerator: Accelerator,
    progress: bool,
) -> Progress:
    evaluate = job.development()
    is_main = accelerator.is_main_process

    def evaluated() -> Evaluation | None:
        if evaluate is None:
            return None
        with evaluating(model):
            return evaluate(model)

    before = evaluated() if is_main else None
    loop = TrainingLoop(
        model,
        recipe,
        directory=output,
        accelerator=accelerator,
        evaluate=evaluate,
        show_progress=progress,
        unit=JOBS[recipe.kind].examples,
    )
    if loop.resume():
        logger.info("Resuming %s from step %s", output, loop.progress.step)
    result = loop.train(objective)
    accelerator.wait_for_everyone()  # until all processes have read the best weights
    if is_main:
        after = evaluated()
        change: dict[str, Any] = {}
        if before is not None and after is not None:
            scores = {"before": float(before), "after": float(after)}
            change = {"change": {**scores, "p_value": before.p_value(after)}}
        try:
            outcome = {**job.save(model, output), **change, "text": stamp}
            _finish(recipe, outcome, result, output, accelerator)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"Cannot write the finished model to {output}: {error}. The last checkpoint is "
                "intact. Run the same command again to resume from it."
            ) from error
        clear_work(output)
    accelerator.wait_for_everyone()
    return result


def _finish(
    recipe: Recipe,
    outcome: dict[str, Any],
    result: Progress,
    output: Path,
    accelerator: Accelerator,
) -> None:
    """Write the curve, the model card and, last, `run.json`, which marks the run as finished."""
    rate = round(result.examples / result.seconds) if result.seconds else None
    record = {
        "progress": result.__dict__,
        f"{JOBS[recipe.kind].examples}_per_second": rate,
        **outcome,
        "weights_sha256": content_hash(output / WEIGHTS),
        "processes": accelerator.num_processes,
        "device": accelerator.device.type,
        "threads": torch.get_num_threads(),
        "versions": {"paraphrastic_hf": paraphrastic_hf.__version__, "torch": torch.__version__},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_curve(output)
    write_card(output, run_card(output, run=record))
    write_json(output / "run.json", record)
