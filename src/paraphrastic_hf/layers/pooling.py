"""From token vectors to one vector a text. Masked positions never matter."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the unmasked positions; the zero vector where there is none.

    Args:
        states: (batch, seq, dim).
        mask: (batch, seq), 1 for a token and 0 for padding.

    Returns:
        (batch, dim).
    """
    kept = mask.unsqueeze(-1).to(states.dtype)
    # where, not a product: a masked NaN must not come through
    total = torch.where(kept.bool(), states, 0).sum(1)
    return total / kept.sum(1).clamp(min=1)
