"""Checkpoints that survive `kill -9`, a truncated write and a full disk.

A checkpoint is a folder `step-N` with safetensors files and a `state.json` with their sizes and
hashes. It is written as `step-N.part` and then renamed. A run that is interrupted between two
checkpoints writes `stopped-N`, which the next checkpoint removes.
"""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from paraphrastic_hf.errors import CheckpointError, refused
from paraphrastic_hf.io.files import WEIGHTS, content_hash, read_json, replacing, write_json
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
    """Write the checkpoint `root/step-N`, and remove all but the newest `keep` checkpoints.

    If no checkpoint is due, write `root/stopped-N`, with pending updates of table rows.
    """
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
            f"Cannot write the checkpoint of step {step} in {root}: {error}. Earlier checkpoints "
            f"are intact ({good}). Run the same command again to resume from them."
        ) from error
    stopped = [path for path in _all_checkpoints(root) if path.name.startswith("stopped")]
    for path in [*list_checkpoints(root)[:-keep], *stopped]:
        if path != target:
            shutil.rmtree(path)


def load_latest(
    root: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any] | None:
    """Restore the newest intact checkpoint. Return its state, or None without checkpoints."""
    paths = _all_checkpoints(root)
    for path in reversed(paths):
        try:
            state = read_json(path / STATE)
            for name, fingerprint in state["files"].items():
                if _fingerprint(path / name) != fingerprint:
                    raise ValueError(f"{name} is truncated or changed")
            tensors, weights = load_file(path / OPTIMIZER), load_file(path / WEIGHTS)
            try:
                _load(model, weights)
            except RuntimeError as error:
                raise CheckpointError(
                    f"{path} is of another run: {error}. Use another --output"
                ) from error
            restore_optimizer(optimizer, tensors)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            logger.warning("%s is damaged (%s). Trying the previous one.", path.name, error)
        else:
            return dict(state)
    if paths:
        raise CheckpointError(
            f"All checkpoints in {root} are damaged. Start again with --overwrite"
        )
    return None


def _load(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Load the result of `weights_of`, which has only one name for tied weights."""
    sources = {name: weights[it] for name, it in _ties(model).items() if it in weights}
    model.load_state_dict({**weights, **sources})


def list_checkpoints(root: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first, without `stopped-N`."""
    return [path for path in _all_checkpoints(root) if path.name.startswith("step")]


def _all_checkpoints(root: Path) -> list[Path]:
    found = [*root.glob("step-*"), *root.glob("stopped-*")]
    paths = [path for path in found if path.suffix != ".part"]
    return sorted(paths, key=lambda path: path.name.partition("-")[::-1])


def save_weights(model: nn.Module, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(path) as partial:
            _save(weights_of(model), partial)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"Cannot write {path}: {error}") from error


def load_weights(model: nn.Module, path: Path) -> None:
    """Load a model's weights. If the file does not exist, warn and keep the current weights."""
    if not path.exists():
        logger.warning("%s does not exist. Keeping the last weights.", path)
        return
    with refused(CheckpointError, f"{path} is damaged. Remove it to finish with the last weights"):
        _load(model, load_file(path))


def load_average(model: nn.Module, root: Path, count: int) -> int:
    """Load the mean weights of the newest checkpoints, at most `count`. Return their number.

    Without checkpoints, the model is unchanged.
    """
    paths = [path / WEIGHTS for path in list_checkpoints(root)[-count:]]
    total: dict[str, Tensor] = {}
    with refused(CheckpointError, f"A checkpoint in {root} is damaged. Use --overwrite"):
        for path in paths:
            for name, weight in load_file(path).items():
                value = weight.double() if weight.is_floating_point() else weight
                is_sum = name in total and weight.is_floating_point()
                total[name] = total[name] + value if is_sum else value
    if paths:
        like = model.state_dict()
        mean = {
            name: (value / len(paths) if value.is_floating_point() else value).to(like[name].dtype)
            for name, value in total.items()
        }
        _load(model, mean)
    return len(paths)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a state dict with one name for tied weights, because safetensors allows only one."""
    return {name: value for name, value in model.state_dict().items() if name not in _ties(model)}


def _ties(model: nn.Module) -> dict[str, str]:
    return getattr(model, "all_tied_weights_keys", None) or {}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the tensors of an optimizer's state by name, such as `0.first_moment`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restore the state that `optimizer_tensors` returned."""
    # `load_state_dict` would convert integers to floating point.
    of_groups = [(p, group) for group in optimizer.param_groups for p in group["params"]]
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        parameter, group = of_groups[int(index)]
        # Step counts are on the CPU, except for a fused kernel.
        stays = value.ndim == 0 and not group.get("fused")
        optimizer.state[parameter][name] = value if stays else value.to(parameter.device)
    if isinstance(optimizer, RowAdam):
        optimizer.restore_pending()


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()}, path, {"format": "pt"}
    )
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": content_hash(path)}
