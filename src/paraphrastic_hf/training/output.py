"""The folder of a run, and the machine it is on: what contrastive and supervised training share."""

from __future__ import annotations

import json
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import InitProcessGroupKwargs

import paraphrastic_hf
from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.recipe import load_recipe, to_yaml
from paraphrastic_hf.text.files import write_bytes
from paraphrastic_hf.training.arguments import Recipe
from paraphrastic_hf.training.loop import Progress
from paraphrastic_hf.training.supervised_arguments import SupervisedRecipe

RUN_FOLDERS = ("work", "checkpoints", "logs", "tokenizers", "model.part")
RUN_FILES = (
    *("run.json", "*.safetensors", "config*.json", "modules.json", "tokenizer*.json"),
    *("spiece.model", "ngrams.json", "special_tokens_map.json", "paraphrastic_*"),
    "recipe.yaml",  # last: it marks the folder as ours
)


def new_accelerator(precision: str = "fp32") -> Accelerator:
    """Device, precision and processes of a run."""
    AcceleratorState._reset_state()  # a second run in this process may want another precision
    return Accelerator(
        # said outright, or processes started by torchrun would not find each other without a GPU
        cpu=not torch.accelerator.is_available(),
        mixed_precision="bf16" if precision == "bf16" else "no",
        # the others wait while the first process tokenizes
        kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=12))],
    )


def claim(output: Path, recipe: Recipe | SupervisedRecipe, overwrite: bool) -> None:
    """Make `output` this recipe's, or refuse.

    Raises:
        RecipeError: It holds another run, or something else.
        CheckpointError: It cannot be written.
    """
    record = output / "recipe.yaml"
    if overwrite and record.exists():
        _remove_run(output)
    if record.exists():
        old, new = _record(record, type(recipe)), to_yaml(recipe)
        if old != new:
            changed = [line.strip() for line in new.splitlines() if line not in old.splitlines()]
            raise RecipeError(
                f"{output} holds a run of another recipe (now different: "
                f"{'; '.join(changed) or 'the order of entries'}); use another --output or "
                "--overwrite"
            )
    elif output.exists() and any(output.iterdir()):
        raise RecipeError(
            f"{output} is not empty and holds no run of this program; choose another --output"
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
        text = to_yaml(recipe).encode("utf-8")
        if not record.exists() or record.read_bytes() != text:  # of newer keys
            write_bytes(record, text)
    except OSError as error:
        raise CheckpointError(f"cannot write to {output}: {error}") from error


def give_up(output: Path) -> None:
    """Undo a claim that came to nothing, so that a corrected recipe finds the place free."""
    _remove_run(output)
    if not any(output.iterdir()):
        output.rmdir()


def _record(path: Path, kind: type[Recipe] | type[SupervisedRecipe]) -> str:
    """The recipe a run was begun with, with the defaults of keys that are newer than it."""
    try:
        return to_yaml(load_recipe(kind, path, []))
    except RecipeError:  # of another kind, damaged, or by now refused
        return path.read_text(encoding="utf-8")


def _remove_run(output: Path) -> None:
    """Remove what a run leaves behind, and nothing else that may lie there."""
    for folder in RUN_FOLDERS:
        shutil.rmtree(output / folder, ignore_errors=True)
    for pattern in RUN_FILES:
        for path in output.glob(pattern):
            path.unlink()


def read_finished(output: Path) -> Progress:
    """What a finished run came to."""
    record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    return Progress(**record["progress"])


def circumstances() -> dict[str, Any]:
    """Where and when a run ended, for `run.json`."""
    return {
        "threads": torch.get_num_threads(),
        "versions": {
            "paraphrastic_hf": paraphrastic_hf.__version__,
            "torch": torch.__version__,
        },
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def clear_work(output: Path) -> None:
    """Remove what only an unfinished run needs."""
    shutil.rmtree(output / "work", ignore_errors=True)
    shutil.rmtree(output / "checkpoints", ignore_errors=True)
