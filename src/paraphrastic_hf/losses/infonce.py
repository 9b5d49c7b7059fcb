"""InfoNCE: a softmax over the whole pool where the margin loss takes one hardest negative.

No paper here trains by it; it is what most sentence encoders of today do (sentence-transformers:
`MultipleNegativesRankingLoss`), and the comparison is in `recipes/default`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.losses.pool import Pool


def infonce_loss(pool: Pool, allowed: str, temperature: float) -> Tensor:
    """How surely each sentence's partner is told from all sentences it may be taken for.

        -log( e^(cos(s, t) / T) / (e^(cos(s, t) / T) + sum over t' of e^(cos(s, t') / T)) )

    By hand: cos(s, t) = 1, one negative at cosine 0 and T = 0.5 make log(1 + e^-2) = 0.127
    (`tests/losses/test_infonce.py`).

    Args:
        pool: The sentences of a batch, each beside its partner; it says which are negatives.
        allowed: `partner_language` or `opposite_side`.
        temperature: T, positive; 0.05 is usual.

    Returns:
        Sum of the terms of both sides, averaged over the pairs, scalar. A pair without any negative
        adds nothing.
    """
    units = F.normalize(pool.embeddings.float(), dim=1)
    every = torch.arange(len(units), device=units.device)
    if (sides := pool.two_sides(allowed)) is not None:
        # One matrix, read by rows and by columns; no sentence is a candidate of itself.
        left, right = sides
        logits = linear(units[left], units[right]).float() / temperature
        blocks = [(logits, left, right), (logits.T, right, left)]
        must_bar = pool.bars_more
    else:
        blocks = [
            (linear(units[rows], units[columns]).float() / temperature, rows, columns)
            for rows, columns in pool.classes(allowed, every)
        ]
        must_bar = True
    total = units.new_zeros(())
    for logits, anchors, candidates in blocks:
        place = torch.full_like(every, -1)
        place[candidates] = torch.arange(len(candidates), device=units.device)
        partners = place[anchors ^ 1]
        if must_bar:
            logits = logits + _bars(pool, anchors, candidates, partners)
        total = total + F.cross_entropy(logits, partners, reduction="sum")
    return total / (len(units) // 2)


def _bars(pool: Pool, anchors: Tensor, candidates: Tensor, partners: Tensor) -> Tensor:
    """(anchors, candidates): minus infinity where a candidate is forbidden, but for the partner."""
    bars = pool.embeddings.new_zeros(len(anchors), len(candidates), dtype=torch.float32)
    bars[pool.forbidden(anchors, candidates)] = -torch.inf
    bars[torch.arange(len(anchors), device=bars.device), partners] = 0
    return bars
