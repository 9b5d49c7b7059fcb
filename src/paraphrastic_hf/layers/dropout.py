"""Inverted dropout, several times cheaper on CPU than the stock one, where it dominates a training
step."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

STEPS = 2**16


def dropout(values: Tensor, probability: float, training: bool) -> Tensor:
    """Zero each number with `probability` and scale the rest, so that the expectation stays.

    On CPU the coin is a 16-bit integer, four to a random word, so the probability is rounded to a
    multiple of 1/65,536; the scale is that of the rounded one. Elsewhere this is `F.dropout`.

    Args:
        values: Any shape.
        probability: Of zeroing, 0 to 1.
        training: Whether to drop at all.
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
