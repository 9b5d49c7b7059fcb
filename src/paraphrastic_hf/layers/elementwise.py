"""Functions of single numbers: activations by the names that recipes give them (thesis, 3.1.2 and
3.7.2.2), and inverted dropout (Srivastava et al., 2014; thesis, 5.1.1).

torch's dropout takes most of the time of a training step on a CPU; this is several times faster.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": lambda values: values,
}


STEPS = 2**16


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Zero each number with `probability` and scale the rest, so that the expectation stays.

    On a CPU each number is decided by 16 random bits, a quarter of a random 64-bit word, so the
    probability is rounded to a multiple of 1/65,536, and the scale fits the rounded probability.
    Elsewhere this is `F.dropout`.

    Args:
        values: The numbers, a tensor of any shape.
        probability: Probability that a number is zeroed, 0 to 1.
        training: Whether to zero anything; if False the values come back as they are.

    Returns:
        The values that are left, scaled, in the shape given.
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
