"""Elementwise functions: activations (thesis, 3.1.2 and 3.7.2.2) and inverted dropout (Srivastava
et al., 2014; thesis, 5.1.1).

On a CPU, this dropout is several times faster than torch's, which takes most of a training step.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": lambda values: values,
}
STEPS = 2**16  # resolution of the dropout probability on a CPU


def tanh_(values: Tensor) -> Tensor:
    """Replace numbers by their hyperbolic tangent, in place, and return them in the shape given.

    On a CPU, this is four times as fast as `torch.tanh`, with an absolute error of 1e-7 in float32.
    """
    return values.mul_(2).sigmoid_().mul_(2).sub_(1)


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Zero each number with `probability`, and scale the others to keep the expected value.

    Numbers have any shape. On a CPU, 16 random bits decide each number. The probability is rounded
    to a multiple of 1/65,536, and the scale matches the rounded probability. Other devices use
    `F.dropout`.
    """
    if not training or not probability:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, probability, training)
    dropped = round(probability * STEPS)
    if dropped >= STEPS:
        return values * 0
    words = torch.empty(-(-values.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    coins = words.view(torch.int16)[: values.numel()].view(values.shape)
    scale = STEPS / (STEPS - dropped)
    return values * ((coins >= dropped - STEPS // 2) * torch.tensor(scale, dtype=values.dtype))
