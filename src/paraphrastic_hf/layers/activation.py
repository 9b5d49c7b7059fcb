"""Elementwise functions by the names that recipes and the papers give them (thesis, 3.1.2 and
3.7.2.2)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": lambda values: values,
}
