"""Safe loading of untrusted models.

Code from a model's repository does not run unless the caller allows it. Sizes in the config are
checked against the weights file before memory is allocated.
"""

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
NUMBERS_OF_A_BYTE = 4  # numbers built per byte of the file: int4 has 2, tied tables are repeated
NUMBERS = 2**22  # allowance for numbers that are not in the file, such as position tables
PARTS_OF_A_TENSOR = 16  # modules, parameters and buffers for each tensor in the file
PARTS = 4096


@contextmanager
def loading(directory: Path, what: str = "the model") -> Iterator[None]:
    """Context for loading a model with transformers, with size limits and no progress bars."""
    name = shown_name(directory)
    with refused(ModelError, f"Cannot load {what} in {name}"), no_progress_bar():
        if not (directory / CONFIG).is_file():
            raise ModelError(
                f"{name} has no {CONFIG}. Pass a folder that `paraphrastic train` wrote"
            )
        with bounded(directory):
            yield


@contextmanager
def bounded(directory: Path, *, inside: str = "") -> Iterator[None]:
    """Raise a `ModelError` if the `with` block builds a model larger than the weights file in
    `directory`, or in its subfolders if `inside` is `**/`.
    """
    name = shown_name(directory)
    files = [path for ending in WEIGHTS_FILES for path in directory.glob(inside + ending)]
    most = NUMBERS + NUMBERS_OF_A_BYTE * sum(path.stat().st_size for path in files)
    for config in directory.glob(inside + CONFIG):
        _check_counts(read_json(config), "", most, name)
    with _bounded_building(most, PARTS + PARTS_OF_A_TENSOR * _tensors(files), name):
        yield


def _check_counts(value: Any, key: str, most: int, name: str) -> None:
    if isinstance(value, dict):
        for inner, each in value.items():
            _check_counts(each, f"{key}.{inner}".lstrip("."), most, name)
    elif isinstance(value, list):
        for each in value:
            _check_counts(each, key, most, name)
    elif isinstance(value, int) and abs(value) > most:
        raise ModelError(
            f"{name}/{CONFIG} sets {key} to {value:.3g}, but the weights file is too small for "
            "this value. Download or train the model again"
        )


def _tensors(files: list[Path]) -> int:
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
    """Raise an error as soon as this thread builds a model with more numbers or modules than
    allowed.

    transformers builds models on the meta device, so no memory has been allocated at that point.
    """
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
                f"{name}/{CONFIG} describes a model of over {counted(numbers, 'parameter')} in "
                f"{counted(parts, 'tensor')}, more than the weights file holds. Download or train "
                "the model again"
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
    was_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            transformers_logging.enable_progress_bar()
