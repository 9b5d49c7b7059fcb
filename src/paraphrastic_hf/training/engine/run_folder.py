"""Output folder of a run: claim, resume, lengthen or replace it."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.config.recipe import build, is_record, read_mapping, to_record, to_yaml
from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.io.files import read_json, remove, write_bytes
from paraphrastic_hf.training.engine.paths import named_weights, resolve_model
from paraphrastic_hf.training.engine.progress import Progress
from paraphrastic_hf.training.engine.provenance import Stamp, refuse_other_text, text_stamp
from paraphrastic_hf.training.kinds import Recipe

if TYPE_CHECKING:
    from accelerate import Accelerator

logger = logging.getLogger(__name__)

CHANGES_SHOWN = 6
START_AFRESH = "train in another --output, or afresh with --overwrite"
RUN_FOLDERS = ("work", "checkpoints", "logs", "tokenizers", "model.part")
RUN_FILES = (
    "run.json", "README.md", "training.png", "*.safetensors", "config.json", "modules.json",
    "config_sentence_transformers.json", "generation_config.json", "tokenizer*.json",
    "spiece.model", "ngrams.json", "special_tokens_map.json", "paraphrastic_*",
    # tokenizer files copied from the model that the run started from
    "vocab.*", "merges.txt", "added_tokens.json", "source.spm", "target.spm", "*.bpe.model",
    "recipe.yaml",  # last, since it marks the folder as ours
)  # fmt: skip


def new_accelerator(precision: str = "fp32") -> Accelerator:
    """Create the Accelerator of a run, which determines device, precision and processes."""
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import InitProcessGroupKwargs

    AcceleratorState._reset_state()  # a second run in this process may have another precision
    return Accelerator(
        # Without this, torchrun processes do not find each other on a machine without a GPU.
        cpu=not torch.accelerator.is_available(),
        mixed_precision="bf16" if precision == "bf16" else "no",
        # The other processes wait while the first process tokenizes.
        kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=12))],
    )


def refuse_own_start(recipe: Recipe, output: Path, data_root: str | Path | None) -> None:
    """Raise an error if `output` contains a model that the recipe uses."""
    for key, name in named_weights(recipe, models_only=True):
        found = Path(resolve_model(name, data_root))
        if found.exists() and output.exists() and output.samefile(found):
            raise RecipeError(f"{key} ({name}) is also the output folder. Use another --output.")


def claim(output: Path, recipe: Recipe, overwrite: bool) -> bool:
    """Prepare the folder `output` for this recipe. Return False if an earlier run resumes.

    With `overwrite`, an earlier run is removed.
    """
    record, is_ours = output / "recipe.yaml", _is_ours(output)
    if overwrite and is_ours:
        remove_run(output)
    elif is_longer(output, recipe):
        if key := recipe.training.key_set_by_length():
            raise RecipeError(
                f"{key} depends on the length of the run, so the run in {output} cannot be trained "
                "longer. Use another --output, or --overwrite."
            )
        return False
    elif is_ours:
        _refuse_another(output, recipe)
    elif output.is_dir() and any(path.suffix != ".part" for path in output.iterdir()):
        raise RecipeError(f"{output} contains other files. Use another --output.")
    try:
        text = to_record(recipe)
        if not record.exists() or record.read_bytes() != text:  # the record may lack newer keys
            write_bytes(record, text)
    except OSError as error:
        raise CheckpointError(f"Cannot write to {output}: {error}") from error
    return overwrite or not is_ours


def _refuse_another(output: Path, recipe: Recipe) -> None:
    path, new = output / "recipe.yaml", to_yaml(recipe)
    mapping = read_mapping(path)
    try:
        old = to_yaml(build(type(recipe), mapping))
    except RecipeError:  # of another kind, or no longer valid
        old = path.read_text(encoding="utf-8")
    if old != new:
        changed = [line.strip() for line in new.splitlines() if line not in old.splitlines()]
        shown = "; ".join(changed[:CHANGES_SHOWN]) or "the order of entries"
        more = f"; and {len(changed) - CHANGES_SHOWN} more" * (len(changed) > CHANGES_SHOWN)
        raise RecipeError(
            f"{output} holds a run of another recipe (now different: {shown}{more}). Use "
            "another --output, or --overwrite."
        )


def is_longer(output: Path, recipe: Recipe) -> bool:
    """Return whether a recipe differs from the run in `output` only by more epochs or steps.

    False for a run without a checkpoint.
    """
    if not has_checkpoint(output):
        return False
    try:
        run = build(type(recipe), read_mapping(output / "recipe.yaml"))
    except RecipeError:
        return False
    changed: Any = recipe
    old, new = run.training, changed.training
    alike = replace(changed, training=replace(new, epochs=old.epochs, steps=old.steps))
    ends = [(t.epochs, math.inf if t.steps is None else t.steps) for t in (old, new)]
    is_more = ends[0] != ends[1] and all(one <= two for one, two in zip(*ends, strict=True))
    return is_more and to_yaml(alike) == to_yaml(run)


def lengthen(output: Path, recipe: Recipe, stamp: Stamp) -> None:
    """If the recipe makes a run longer, mark the run as unfinished and record the recipe."""
    if not is_longer(output, recipe):
        return
    if is_finished(output):
        _result(output, stamp)
        # first, so that a killed process leaves a run that `recipe` lengthens
        (output / "run.json").unlink()
    write_bytes(output / "recipe.yaml", to_record(recipe))


def _result(output: Path, stamp: Stamp) -> Progress:
    """Read the result of a finished run, which must have the given stamp."""
    path = output / "run.json"
    try:
        record = dict(read_json(path))
        refuse_other_text(record["text"], stamp, f"The run in {output}", START_AFRESH)
        return Progress(**record["progress"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}), but the model beside it may be intact. Train again with "
            "--overwrite, or in another --output."
        ) from error


def has_checkpoint(output: Path) -> bool:
    """Return whether the folder contains a run that can be resumed."""
    return any(path.suffix != ".part" for path in (output / "checkpoints").glob("*-*"))


def _is_ours(output: Path) -> bool:
    return is_record(output / "recipe.yaml") or is_finished(output)


def remove_run(output: Path) -> None:
    """Remove the files of a run. Other files in the folder stay."""
    for pattern in (*RUN_FOLDERS, *RUN_FILES):
        for path in list(output.glob(pattern)):
            remove(path)


def is_finished(output: Path, recipe: Recipe | None = None) -> bool:
    """Return whether the run is finished. False if `recipe` asks for a longer run."""
    # in this order, because another process may call `lengthen` in between
    return not (recipe and is_longer(output, recipe)) and (output / "run.json").exists()


def finished_run(
    output: Path, recipe: Recipe, data_root: str | Path | None, datasets: Iterable[Any] = ()
) -> Progress:
    """Return the result of a finished run. Raise an error if it was trained on other text."""
    done = _result(output, text_stamp(recipe, data_root, datasets))
    logger.info("%s is already finished", output)
    clear_work(output)  # a killed run may have left it
    return done


def clear_work(output: Path) -> None:
    """Remove the tokenizer and the tokenized text of a finished run. Checkpoints stay."""
    shutil.rmtree(output / "work", ignore_errors=True)
