"""Whether a model can be in this machine's memory: asked before it is made, and where it could not.

A table of 10^12 numbers a row is refused by its size; what is larger than it looked fails when the
memory is asked for, and that becomes an error of this package too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import ParaphrasticModel

BYTES = 4  # of a float32
GIGABYTE = 1 << 30
SMALLEST_TABLE = 3  # rows, where the vocabulary is not known yet
OF_MODEL = ("model.hidden_size", "tokenizer.vocab_size")
LARGE = (
    *OF_MODEL,
    "candidates.count",
    "training.batch_size",
    "training.batch_tokens",
    "data.max_length",
)  # keys, of which a kind of recipe has some


def way_out(recipe: Any) -> str:
    """What to lower where memory runs out: the keys of a recipe that it goes by."""
    known = {
        f"{group.name}.{name}"
        for group in fields(recipe)
        for name in getattr(getattr(recipe, group.name), "__dict__", ())
    }
    return _lower([key for key in LARGE if key in known])


def _lower(keys: Sequence[str]) -> str:
    return f"lower {', '.join(keys[:-1])} or {keys[-1]}, whichever is large"


def check_memory(model_class: type[ParaphrasticModel], config: Any) -> None:
    """Refuse a model whose numbers alone are more than the machine's memory holds."""
    most = machine_memory()
    with torch.device("meta"):
        model = model_class(config)
    numbers = sum(weight.numel() for weight in model.parameters())
    if most is not None and numbers * BYTES > most:
        raise RecipeError(
            f"a model of {numbers:,} numbers takes {numbers * BYTES / GIGABYTE:,.1f} GB, and this "
            f"machine has {most / GIGABYTE:,.1f} GB of memory: {_lower(OF_MODEL)}"
        )


def machine_memory() -> int | None:
    """The bytes of memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no such function
        return None
