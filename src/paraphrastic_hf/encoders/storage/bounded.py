"""Safe loading of models that others wrote.

Their code runs only if asked for, sizes are compared with the weights file before memory is
allocated, and errors of other libraries become errors of this package.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import nn
from torch.nn.modules import module as torch_module
from transformers.utils import logging as transformers_logging

from paraphrastic_hf.encoders.storage.locate import shown_name
from paraphrastic_hf.errors import ModelError, counted, refused
from paraphrastic_hf.io.files import read_json

CONFIG = "config.json"
WEIGHTS_FILES = ("*.safetensors", "*.bin")
NUMBERS_OF_A_BYTE = 4  # int4 packs two numbers in a byte, and tied tables are built several times
NUMBERS = 2**22  # that need not be in the file, such as position tables
PARTS_OF_A_TENSOR = 16  # modules, parameters and buffers for each tensor in the file
PARTS = 4096


@contextmanager
def loading(directory: Path, what: str = "the model") -> Iterator[None]:
    """Bound what transformers loads from a directory, and hide its progress bars.

    Args:
        directory: The directory of a model.
        what: What is loaded, for the message.

    Raises:
        ModelError: Something is damaged, larger than the weights file allows, or needs code that
            may not run.
    """
    name = shown_name(directory)
    with refused(ModelError, f"cannot load {what} in {name}"), no_progress_bar():
        if not (directory / CONFIG).is_file():
            raise ModelError(f"{name} has no {CONFIG}; give the --output of `paraphrastic train`")
        with bounded(directory):
            yield


@contextmanager
def bounded(directory: Path, *, inside: str = "") -> Iterator[None]:
    """Load what a directory holds with an error for sizes that its weights cannot have.

    Args:
        directory: The directory of a model.
        inside: `**/` to count files in folders within too.

    Raises:
        ModelError: A config has a larger size, or describes a larger model.
    """
    name = shown_name(directory)
    files = [path for ending in WEIGHTS_FILES for path in directory.glob(inside + ending)]
    most = NUMBERS + NUMBERS_OF_A_BYTE * sum(path.stat().st_size for path in files)
    for config in directory.glob(inside + CONFIG):
        _check_counts(read_json(config), "", most, name)
    with _bounded_building(most, PARTS + PARTS_OF_A_TENSOR * _tensors(files), name):
        yield


def _check_counts(value: Any, key: str, most: int, name: str) -> None:
    """Refuse integers in a config that exceed every size the weights allow, since some are used
    before anything is built."""
    if isinstance(value, dict):
        for inner, each in value.items():
            _check_counts(each, f"{key}.{inner}".lstrip("."), most, name)
    elif isinstance(value, list):
        for each in value:
            _check_counts(each, key, most, name)
    elif isinstance(value, int) and abs(value) > most:
        raise ModelError(
            f"{name}/{CONFIG} has {key} {value:.3g}, more than its weights can hold; copy, "
            "download or train it again"
        )


def _tensors(files: list[Path]) -> int:
    """Count the tensors in the files; a pickle, which is not opened here, counts as one per 64
    kB."""
    count = 0
    for path in files:
        if path.suffix == ".safetensors":
            with safe_open(path, framework="numpy") as tensors:
                count += len(tensors.keys())
        else:
            count += path.stat().st_size >> 16
    return count


@contextmanager
def _bounded_building(most_numbers: int, most_parts: int, name: str) -> Iterator[None]:
    """Raise an error as soon as this thread builds more than the weights can fill. transformers
    builds on the meta device, so no memory is allocated by then."""
    thread, numbers, parts = threading.get_ident(), 0, 0

    def count(_module: nn.Module, _name: str, part: Any) -> None:
        nonlocal numbers, parts
        if threading.get_ident() != thread:
            return
        is_tensor = part is not None and not isinstance(part, nn.Module)
        if is_tensor and part.device.type != "meta":
            return  # already filled from the file
        parts += 1
        numbers += part.numel() if is_tensor else 0
        if numbers > most_numbers or parts > most_parts:
            raise ModelError(
                f"{name}/{CONFIG} describes a larger model than the weights file holds (above "
                f"{counted(numbers, 'number')} in {counted(parts, 'part')}); copy, download or "
                "train it again"
            )

    with ExitStack() as hooks:
        for register in (
            torch_module.register_module_module_registration_hook,
            torch_module.register_module_parameter_registration_hook,
            torch_module.register_module_buffer_registration_hook,
        ):
            hooks.callback(register(count).remove)
        yield


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Hide transformers' bar, which is of no use for models that load in a blink."""
    was_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            transformers_logging.enable_progress_bar()
