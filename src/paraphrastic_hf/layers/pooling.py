"""From token vectors to one vector a text. Masked positions never matter.

Token vectors come padded, (batch, seq, dim) with a mask, or as flat rows, (tokens, dim), text after
text, with the lengths of the texts. A text without tokens has the zero vector.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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


def sum_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Sum of each text's rows, (batch, dim), from (tokens, dim) and lengths, (batch,)."""
    text = torch.repeat_interleave(lengths)
    return rows.new_zeros(len(lengths), rows.shape[1]).index_add(0, text, rows)


def mean_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Mean of each text's rows, (batch, dim)."""
    return sum_rows(rows, lengths) / lengths.clamp(min=1).unsqueeze(1).to(rows.dtype)


def max_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Largest of each number over a text's rows, (batch, dim)."""
    places = torch.arange(len(rows), device=rows.device)
    offsets = F.pad(lengths.cumsum(0), (1, 0))
    return F.embedding_bag(places, rows, offsets, mode="max", include_last_offset=True)


def last_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Each text's last row, (batch, dim)."""
    has_tokens = lengths > 0
    last = rows.index_select(0, (lengths.cumsum(0) - 1)[has_tokens])
    return rows.new_zeros(len(lengths), rows.shape[1]).index_copy(
        0, torch.nonzero(has_tokens)[:, 0], last
    )


POOLINGS = {"last": last_rows, "mean": mean_rows, "max": max_rows}
