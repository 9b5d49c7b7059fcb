"""Check whether a model fits into the machine's memory."""

import os
from typing import Any

import torch

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import ParaphrasticModel

BYTES = 4  # bytes of a float32
GIGABYTE = 1 << 30
SMALLEST_TABLE = 3  # assumed number of table rows while the vocabulary size is unknown
LOWER = "lower model.hidden_size, tokenizer.vocab_size, training.batch_size or data.max_length"


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
            f"{most / GIGABYTE:,.1f} GB of memory: {LOWER}"
        )


def machine_memory() -> int | None:
    """Return this machine's memory in bytes, or None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no `sysconf`
        return None
