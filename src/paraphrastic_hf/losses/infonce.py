"""InfoNCE loss (van den Oord et al., 2018): a softmax over a partner and all its negatives.

The papers of this package use the margin loss with the hardest negative. `recipes/default` compares
the two losses.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from paraphrastic_hf.layers.product import linear, product
from paraphrastic_hf.losses.margin import SMALLEST_NORM
from paraphrastic_hf.losses.pool import POOLS, Pool


def infonce_loss(pool: Pool, allowed: str, temperature: float) -> Tensor:
    """Compute the InfoNCE loss: each sentence s should select its partner t among the candidates.

        -log( e^(cos(s, t) / T) / (e^(cos(s, t) / T) + sum over t' of e^(cos(s, t') / T)) )

    The negatives t' are the candidates that are allowed for s (`pool.py`). T is the `temperature`,
    usually 0.05. The result is the term of s plus the term of t, averaged over the pairs, a scalar.
    A pair without negatives adds 0. The zero vector has cosine 0 with any vector.
    """
    if allowed not in POOLS:
        raise ValueError(f"allowed must be one of {', '.join(POOLS)}, got {allowed!r}")
    rows = pool.embeddings.float()
    norms = rows.norm(dim=1, keepdim=True)
    units = torch.where(norms > SMALLEST_NORM, rows / norms.clamp(min=SMALLEST_NORM), 0.0)
    every = torch.arange(len(units), device=units.device)
    sides = pool.two_sides(allowed)
    total = units.new_zeros(())
    for anchors, candidates in [sides] if sides is not None else pool.classes(allowed, every):
        choices = [_choice(pool, anchors, candidates)]
        if sides is not None:  # rows and columns of one matrix hold both directions
            choices.append(_choice(pool, candidates, anchors))
        total = total + _SoftmaxCrossEntropy.apply(
            units[anchors], units[candidates], choices, temperature
        )
    return total / (len(units) // 2)


Choice = tuple[Tensor, Tensor | tuple[Tensor, Tensor]]


def _choice(pool: Pool, anchors: Tensor, candidates: Tensor) -> Choice:
    """Return the column of each anchor's partner, and which candidates each may not use."""
    place = torch.full((len(pool.embeddings),), -1, device=anchors.device)
    place[candidates] = torch.arange(len(candidates), device=anchors.device)
    return place[anchors ^ 1], pool.forbidden(anchors, candidates)


class _SoftmaxCrossEntropy(torch.autograd.Function):
    """Cross-entropy of the partners, summed over the rows of a matrix of cosines.

    A second `Choice` adds the sum over the columns. The forward pass computes the gradient of the
    cosines, so only one matrix is kept.
    """

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, choices: list[Choice], temperature: float
    ) -> Tensor:
        logits = linear(left, right)
        kept = logits.dtype  # bfloat16 under autocast
        logits = logits.float().mul_(1 / temperature)
        total = logits.new_zeros(())
        slopes: Tensor | None = None
        for side, (partners, forbidden) in enumerate(choices):
            is_last = side == len(choices) - 1
            share = logits if is_last else logits.clone()
            share = share.T.contiguous() if side else share
            rows = torch.arange(len(share), device=share.device)
            own = share[rows, partners]
            share[forbidden] = -torch.inf
            share[rows, partners] = own
            top = share.amax(1)
            whole = share.sub_(top[:, None]).exp_().sum(1)
            total += (whole.log() + top - own).sum()
            share /= whole[:, None]
            share[rows, partners] -= 1
            slopes = share if slopes is None else slopes.add_(share.T)
        assert slopes is not None
        ctx.save_for_backward(slopes.to(kept), left, right)
        ctx.temperature = temperature
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        slopes, left, right = ctx.saved_tensors
        scale = grad / ctx.temperature
        of_left = product(slopes, right.to(slopes.dtype).T).float() * scale
        of_right = product(slopes.T, left.to(slopes.dtype).T).float() * scale
        return of_left, of_right, None, None
