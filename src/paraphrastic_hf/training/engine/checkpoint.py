"""Checkpoints that survive `kill -9`, a cut-short write and a full disk.

A checkpoint is a folder `step-N` of safetensors and a `state.json` with the size and hash of each.
It is written as `step-N.part` and renamed, so a folder without `.part` is whole unless a disk lost
bytes, and the hashes tell that. Older ones are removed only after a newer one is in place. What a
run that was asked to stop has written between two checkpoints is `stopped-N`, which is gone on from
as from any, never counted among those that are kept, and removed with the next checkpoint.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.io.files import WEIGHTS, read_json, replacing, write_json
from paraphrastic_hf.training.engine.row_adam import RowAdam

logger = logging.getLogger(__name__)

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"


def save_checkpoint(
    root: Path,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    keep: int,
    is_due: bool = True,
) -> None:
    """Write `root/step-N`, then remove all but the newest `keep`; or `stopped-N`, if it is no step
    at which a checkpoint is due, and rows of tables have not caught up."""
    if not is_due and isinstance(optimizer, RowAdam):
        optimizer.keep_pending()
    target = root / f"{'step' if is_due else 'stopped'}-{step:010d}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with replacing(target) as partial:
            partial.mkdir()
            _save(weights_of(model), partial / WEIGHTS)
            _save(optimizer_tensors(optimizer), partial / OPTIMIZER)
            files = {name: _fingerprint(partial / name) for name in (WEIGHTS, OPTIMIZER)}
            write_json(partial / STATE, {**state, "step": step, "files": files})
    except (OSError, SafetensorError) as error:
        good = ", ".join(path.name for path in list_checkpoints(root)) or "none yet"
        raise CheckpointError(
            f"cannot write the checkpoint of step {step} in {root}: {error}. Earlier checkpoints "
            f"are intact ({good}); the same command goes on from there"
        ) from error
    stopped = [path for path in _all_checkpoints(root) if path.name.startswith("stopped")]
    for path in [*list_checkpoints(root)[:-keep], *stopped]:
        if path != target:
            shutil.rmtree(path)


def load_latest(
    root: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any] | None:
    """Restore the newest whole checkpoint in place and return its state; None if there is none."""
    paths = _all_checkpoints(root)
    for path in reversed(paths):
        try:
            state = read_json(path / STATE)
            for name, fingerprint in state["files"].items():
                if _fingerprint(path / name) != fingerprint:
                    raise CheckpointError(f"{name} is cut short or changed")
            tensors = load_file(path / OPTIMIZER)
            _load_weights(model, load_file(path / WEIGHTS), path)
            restore_optimizer(optimizer, tensors)
        except ForeignCheckpoint:
            raise
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            SafetensorError,
            CheckpointError,
        ) as error:
            logger.warning("%s is damaged (%s); going back to the one before", path.name, error)
        else:
            return dict(state)
    if paths:
        raise CheckpointError(
            f"every checkpoint in {root} is damaged; start again with --overwrite"
        )
    return None


class ForeignCheckpoint(CheckpointError):
    """A whole checkpoint, but of another model."""


def _load_weights(model: nn.Module, weights: dict[str, Tensor], path: Path) -> None:
    try:
        _put_back(model, weights)
    except RuntimeError as error:
        raise ForeignCheckpoint(f"{path} belongs to another run: {error}") from error


def _put_back(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Load what `weights_of` gave; a tied name has its value from the one it is tied to."""
    sources = {name: weights[it] for name, it in _ties(model).items() if it in weights}
    model.load_state_dict({**weights, **sources})


def list_checkpoints(root: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return [path for path in _all_checkpoints(root) if path.name.startswith("step")]


def _all_checkpoints(root: Path) -> list[Path]:
    """Those, and what a run that was asked to stop has left."""
    found = [*root.glob("step-*"), *root.glob("stopped-*")]
    paths = [path for path in found if path.suffix != ".part"]
    return sorted(paths, key=lambda path: path.name.partition("-")[::-1])


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(path) as partial:
            _save(weights_of(model), partial)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot write {path}: {error}") from error


def load_weights(model: nn.Module, path: Path) -> None:
    """Put a model's weights back; where the file is gone, they stay as they are."""
    if not path.exists():
        logger.warning("%s is gone; the last weights stay", path)
        return
    try:
        _put_back(model, load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}); remove it to finish with the last weights"
        ) from error


def load_average(model: nn.Module, root: Path, count: int) -> int:
    """Put the mean of the weights of the newest checkpoints into a model.

    Args:
        model: The model; without a checkpoint it stays as it is.
        count: How many, at least 1; all where there are fewer.

    Returns:
        How many there were.
    """
    paths = [path / WEIGHTS for path in list_checkpoints(root)[-count:]]
    total: dict[str, Tensor] = {}
    try:
        for path in paths:
            for name, weight in load_file(path).items():
                value = weight.double() if weight.is_floating_point() else weight
                is_sum = name in total and weight.is_floating_point()
                total[name] = total[name] + value if is_sum else value
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"a checkpoint in {root} is damaged ({error})") from error
    if paths:
        like = model.state_dict()
        mean = {
            name: (value / len(paths) if value.is_floating_point() else value).to(like[name].dtype)
            for name, value in total.items()
        }
        _put_back(model, mean)
    return len(paths)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of a model: its state without the names that are tied to others.

    A tied weight is one tensor under two names (`_tied_weights_keys` of transformers), which
    safetensors refuses to write twice.
    """
    return {name: value for name, value in model.state_dict().items() if name not in _ties(model)}


def _ties(model: nn.Module) -> dict[str, str]:
    """The names of tied weights, each with the name it is tied to."""
    return getattr(model, "all_tied_weights_keys", None) or {}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """An optimizer's state as flat names: `0.first_moment`. Settings are the recipe's, not kept
    here."""
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimizer_tensors`."""
    # Not load_state_dict: it would turn integer state into floating point.
    of_groups = [(p, group) for group in optimizer.param_groups for p in group["params"]]
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        parameter, group = of_groups[int(index)]
        # A count stays on the CPU, except where a fused kernel reads it on the parameter's device.
        is_here = value.ndim == 0 and not group.get("fused")
        optimizer.state[parameter][name] = value if is_here else value.to(parameter.device)
    if isinstance(optimizer, RowAdam):
        optimizer.restore_pending()


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()}, path, {"format": "pt"}
    )
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }
