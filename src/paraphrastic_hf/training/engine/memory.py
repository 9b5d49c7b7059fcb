"""Check whether a model fits into the machine's memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import ParaphrasticModel

BYTES = 4  # bytes of a float32
GIGABYTE = 1 << 30
SMALLEST_TABLE = 3  # assumed number of table rows while the vocabulary size is unknown
OF_MODEL = ("model.hidden_size", "tokenizer.vocab_size")
BATCHES = ("candidates.count", "training.batch_size", "training.batch_tokens", "data.max_length")
LARGE = (*OF_MODEL, *BATCHES)  # recipe keys that determine memory use


def what_to_lower(recipe: Any) -> str:
    """Return advice for messages: recipe keys to lower when memory runs out."""
    known = {
        f"{group.name}.{name}"
        for group in fields(recipe)
        for name in getattr(getattr(recipe, group.name), "__dict__", ())
    }
    return _lower([key for key in LARGE if key in known])


def _lower(keys: Sequence[str]) -> str:
    return f"lower {', '.join(keys[:-1])} or {keys[-1]}"


def check_memory(model_class: type[ParaphrasticModel], config: Any) -> None:
    """Raise an error if a model's parameters need more than the machine's memory."""
    most = machine_memory()
    with torch.device("meta"):
        model = model_class(config)
    parameters = sum(weight.numel() for weight in model.parameters())
    if most is not None and parameters * BYTES > most:
        raise RecipeError(
            f"The model has {parameters:,} parameters, which take "
            f"{parameters * BYTES / GIGABYTE:,.1f} GB, but this machine has "
            f"{most / GIGABYTE:,.1f} GB of memory: {_lower(OF_MODEL)}"
        )


def machine_memory() -> int | None:
    """Return this machine's memory in bytes, or None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no `sysconf`
        return None
