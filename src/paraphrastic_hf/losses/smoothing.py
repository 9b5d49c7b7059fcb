"""Cross-entropy of predicted tokens, smoothed toward every token alike (Szegedy et al., 2016;
thesis, 5.4 and 7.3).

    (1 - e) * mean of -ln p(target)  +  e * mean of -ln p(token), over all tokens of the vocabulary

Where scores of a part of the vocabulary are there alone, as `losses/vocabulary.py` chooses it, each
column may stand for several tokens.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def cross_entropy_parts(
    logits: Tensor, targets: Tensor, smoothing: float, weights: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute the two terms of the smoothed cross-entropy, weighted; their sum is the loss.

    Args:
        logits: Scores of every token as the next one, (tokens, vocab), any scale.
        targets: Columns of the right tokens, (tokens,).
        smoothing: Share of the probability that all tokens have alike, 0 to below 1.
        weights: How many tokens of the vocabulary each column stands for, (vocab,), at least 1; 1
            if None.

    Returns:
        The term of the right token and that of all tokens, scalars in nats, means over the tokens;
        the second is None without smoothing.

    Example:
        >>> import torch
        >>> right, everyone = cross_entropy_parts(torch.zeros(3, 4), torch.tensor([0, 1, 2]), 0.25)
        >>> (right + everyone).exp()  # all four tokens alike
        tensor(4.)
    """
    right, everyone = _CrossEntropy.apply(logits.float(), targets, smoothing, weights)
    return right, everyone if smoothing else None


class _CrossEntropy(torch.autograd.Function):
    """Both terms, with the gradient written out: softmax less the target distribution.

    One matrix as large as the logits is all it needs, and passes over it are few. With stock
    log_softmax a step takes 1.4 times as long, the products of an output layer of 256 by 8,000
    included (3,000 tokens, two cores).
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, smoothing: float, weights: Tensor | None
    ) -> Any:
        largest = logits.amax(1, keepdim=True)
        probabilities = (logits - largest).exp_()
        if weights is not None:
            probabilities.mul_(weights)
        total = probabilities.sum(1, keepdim=True)
        probabilities.div_(total)
        log_total = (total.log() + largest)[:, 0]  # (tokens,)
        right = (log_total - logits.gather(1, targets[:, None])[:, 0]).mean()
        everyone = right
        share = None  # of the vocabulary that each column stands for
        if smoothing:
            share = torch.ones_like(logits[0]) if weights is None else weights
            share = share / share.sum()
            everyone = (log_total - logits @ share).mean()
        ctx.save_for_backward(probabilities, targets, share)
        ctx.smoothing = smoothing
        return (1 - smoothing) * right, smoothing * everyone

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:  # type: ignore[override]
        probabilities, targets, share = ctx.saved_tensors
        tokens = len(probabilities)
        of_right = gradients[0] * (1 - ctx.smoothing) / tokens
        of_everyone = gradients[1] * ctx.smoothing / tokens
        found = probabilities * (of_right + of_everyone)
        if share is not None:
            found -= of_everyone * share
        found[torch.arange(tokens, device=found.device), targets] -= of_right
        return found, None, None, None
