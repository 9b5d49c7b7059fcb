"""Cross-entropy with label smoothing (Szegedy et al., 2016; thesis, 5.4 and 7.3).

    (1 - e) * mean of -ln p(target)  +  e * mean of -ln p(token), over all tokens of the vocabulary

With a sampled vocabulary (`losses/vocabulary.py`), each column may stand for several tokens.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from paraphrastic_hf.losses.likelihood import blocks


def cross_entropy_parts(
    logits: Tensor, targets: Tensor, smoothing: float, weights: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute the smoothed cross-entropy as two weighted terms. Their sum is the loss.

    Args:
        logits: Logits of the next token, (tokens, vocab).
        targets: Columns of the target tokens, (tokens,).
        smoothing: Probability that is spread over all tokens, 0 to below 1.
        weights: Number of vocabulary tokens that each column represents, (vocab,), at least 1.

    Returns:
        Two scalars in nats, averaged over the tokens: the term of the target, and the term of the
        whole vocabulary. The second is None without smoothing.
    """
    right, everyone = _CrossEntropy.apply(logits, targets, smoothing, weights)
    return right, everyone if smoothing else None


class _CrossEntropy(torch.autograd.Function):
    """Both terms of the loss, with a hand-written gradient: softmax minus target distribution.

    Probabilities are kept in the type of the logits. Those of the targets are kept in float32,
    because their gradient is p - 1. Stock log_softmax makes a training step 1.4 times as long.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, smoothing: float, weights: Tensor | None
    ) -> Any:
        share = None  # fraction of the vocabulary that each column represents
        if smoothing:
            share = logits.new_ones(logits.shape[1]).float() if weights is None else weights
            share = share / share.sum()
        probabilities = torch.empty_like(logits)
        of_targets = logits.new_empty(len(logits), 1, dtype=torch.float32)
        right = logits.new_zeros((), dtype=torch.float32)
        everyone = right.clone()
        for block in blocks(logits):
            scores = logits[block].float()
            largest = scores.amax(1, keepdim=True)
            found = (scores - largest).exp_()
            if weights is not None:
                found.mul_(weights)
            total = found.sum(1, keepdim=True)
            probabilities[block] = found.div_(total)
            of_targets[block] = found.gather(1, targets[block, None])
            log_total = (total.log() + largest).sum()
            right += log_total - scores.gather(1, targets[block, None]).sum()
            if share is not None:
                everyone += log_total - (scores * share).sum()
        ctx.save_for_backward(probabilities, of_targets, targets[:, None], share)
        ctx.smoothing = smoothing
        return (1 - smoothing) * right / len(logits), smoothing * everyone / len(logits)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:  # type: ignore[override]
        probabilities, of_targets, targets, share = ctx.saved_tensors
        of_right = gradients[0] * (1 - ctx.smoothing) / len(targets)
        of_everyone = gradients[1] * ctx.smoothing / len(targets)
        to_targets = of_targets * (of_right + of_everyone) - of_right
        if share is not None:
            to_targets -= of_everyone * share[targets]
        gradient = torch.empty_like(probabilities)
        for block in blocks(probabilities):
            found = probabilities[block].float() * (of_right + of_everyone)
            if share is not None:
                found -= of_everyone * share
            gradient[block] = found.scatter_(1, targets[block], to_targets[block])
        return gradient, None, None, None
