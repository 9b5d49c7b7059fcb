"""The folder of a run, and the machine it is on."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paraphrastic_hf
from paraphrastic_hf.config.recipe import build, is_record, read_mapping, to_record, to_yaml
from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.io.files import read_json, write_bytes
from paraphrastic_hf.training.engine.paths import named_weights, resolve_model
from paraphrastic_hf.training.engine.progress import Progress
from paraphrastic_hf.training.engine.provenance import Stamp, refuse_other_text, text_stamp
from paraphrastic_hf.training.kinds import Recipe

if TYPE_CHECKING:
    from accelerate import Accelerator

logger = logging.getLogger(__name__)

CHANGES_SHOWN = 6
ASIDE = "replaced.part"
START_AFRESH = "train in another --output, or afresh with --overwrite"
RUN_FOLDERS = ("work", "checkpoints", "logs", "tokenizers", "model.part")
RUN_FILES = (
    *(
        "run.json",
        "README.md",
        "training.png",
        "*.safetensors",
        "config.json",
        "config_sentence_transformers.json",
    ),
    *("generation_config.json", "modules.json", "tokenizer*.json"),
    *("spiece.model", "ngrams.json", "special_tokens_map.json", "paraphrastic_*"),
    # of tokenizers that a run took over from the model it started from
    *("vocab.*", "merges.txt", "added_tokens.json", "source.spm", "target.spm", "*.bpe.model"),
    "recipe.yaml",  # last: it marks the folder as ours
)


def new_accelerator(precision: str = "fp32") -> Accelerator:
    """Device, precision and processes of a run."""
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState
    from accelerate.utils import InitProcessGroupKwargs

    AcceleratorState._reset_state()  # a second run in this process may want another precision
    return Accelerator(
        # said outright, or processes started by torchrun would not find each other without a GPU
        cpu=not torch.accelerator.is_available(),
        mixed_precision="bf16" if precision == "bf16" else "no",
        # the others wait while the first process tokenizes
        kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=12))],
    )


def refuse_own_start(recipe: Recipe, output: Path, data_root: str | Path | None) -> None:
    """Refuse to write a model over one that it starts from, or is otherwise made of."""
    for key, name in named_weights(recipe, models_only=True):
        found = Path(resolve_model(name, data_root))
        if found.exists() and output.exists() and output.samefile(found):
            raise RecipeError(
                f"{key} ({name}) is where the model is to be written: choose another --output"
            )


def claim(output: Path, recipe: Recipe, overwrite: bool) -> bool:
    """Make the folder `output` this recipe's, or refuse.

    Returns:
        Whether it was free, or has been made so; not so if an earlier run is to go on.
    """
    put_back(output)  # what a kill left aside
    record = output / "recipe.yaml"
    is_ours = is_record(record) or is_finished(output)
    if overwrite and is_ours:
        _set_aside(output)
    is_new = not is_ours or overwrite
    if not (overwrite and is_ours):
        refuse_other_run(output, recipe)
    try:
        text = to_record(recipe)
        if not record.exists() or record.read_bytes() != text:  # of newer keys
            write_bytes(record, text)
    except OSError as error:
        raise CheckpointError(f"cannot write to {output}: {error}") from error
    return is_new


def refuse_other_run(output: Path, recipe: Recipe) -> None:
    """Refuse a folder that holds another run or other files, without changing it."""
    record = output / "recipe.yaml"
    if is_record(record) or is_finished(output):
        old, new = _record(record, type(recipe)), to_yaml(recipe)
        if old != new:
            changed = [line.strip() for line in new.splitlines() if line not in old.splitlines()]
            shown = "; ".join(changed[:CHANGES_SHOWN]) or "the order of entries"
            more = f"; and {len(changed) - CHANGES_SHOWN} more" * (len(changed) > CHANGES_SHOWN)
            raise RecipeError(
                f"{output} holds a run of another recipe (now different: {shown}{more}); use "
                "another --output or --overwrite"
            )
    elif output.is_dir() and any(path.suffix != ".part" for path in output.iterdir()):
        raise RecipeError(
            f"{output} is not empty and holds no run of this program; choose another --output"
        )


def give_up(output: Path) -> None:
    """Undo a claim that came to nothing, so that a corrected recipe finds the place free."""
    _remove_run(output)


def _set_aside(output: Path) -> None:
    """Move an earlier run out of the way of one that may come to nothing."""
    aside = output / ASIDE
    aside.mkdir()
    for path in _of_run(output):
        path.rename(aside / path.name)


def put_back(output: Path) -> None:
    """Put a run that was set aside into its place again, if there is one, where a new one stands or
    has begun to."""
    aside = output / ASIDE
    if not aside.is_dir():
        return
    if (aside / "recipe.yaml").exists() and (output / "recipe.yaml").exists():
        _remove_run(output)
    for path in _of_run(aside):
        path.rename(output / path.name)
    shutil.rmtree(aside)


def drop_aside(output: Path) -> None:
    """Remove a run that was set aside: the new one has begun."""
    shutil.rmtree(output / ASIDE, ignore_errors=True)


def _of_run(output: Path) -> list[Path]:
    """What a run leaves behind in its folder, the mark of the folder last."""
    folders = [output / name for name in RUN_FOLDERS if (output / name).exists()]
    return folders + [path for pattern in RUN_FILES for path in sorted(output.glob(pattern))]


def _record(path: Path, recipe_class: type) -> str:
    """The recipe a run was begun with, with the defaults of keys that are newer than it."""
    try:
        mapping = read_mapping(path)
    except RecipeError as error:
        raise RecipeError(
            f"{path}, which says what was trained there, is damaged; use another --output, or "
            "start afresh with --overwrite"
        ) from error
    try:
        return to_yaml(build(recipe_class, mapping))
    except RecipeError:  # of another kind, or by now refused
        return path.read_text(encoding="utf-8")


def _remove_run(output: Path) -> None:
    """Remove what a run leaves behind, and nothing else that may lie there."""
    for path in _of_run(output):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def is_finished(output: Path) -> bool:
    """Whether the run of a folder has come to its end."""
    return (output / "run.json").exists()


def refuse_taken(output: Path, recipe: Recipe, overwrite: bool) -> None:
    """Refuse an output folder that `claim` would refuse, before anything is loaded."""
    is_ours = is_record(output / "recipe.yaml") or is_finished(output)
    if not (output / ASIDE).exists() and not (overwrite and is_ours):
        refuse_other_run(output, recipe)


def finished_run(
    output: Path, recipe: Recipe, data_root: str | Path | None, datasets: Iterable[Any] = ()
) -> Progress:
    """Return the result of a finished run of this recipe and text."""
    done = read_finished(output, text_stamp(recipe, data_root, datasets))
    logger.info("%s is finished; nothing to do", output)
    clear_work(output)  # where a kill came between the end of a run and this
    return done


def read_finished(output: Path, stamp: Stamp) -> Progress:
    """What a finished run came to."""
    path = output / "run.json"
    try:
        record = read_json(path)
        # runs of earlier versions do not say
        refuse_other_text(record.get("text", stamp), stamp, f"the run in {output}", START_AFRESH)
        return Progress.of(record["progress"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}, which says how the run ended, is damaged ({error}): the model beside it may "
            "be whole; train again with --overwrite, or in another --output"
        ) from error


def circumstances() -> dict[str, Any]:
    """Where and when a run ended, for `run.json`."""
    import torch

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
