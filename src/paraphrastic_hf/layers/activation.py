"""Elementwise functions by the names the papers and recipes call them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": lambda values: values,
}
