"""Log-likelihoods and smoothed cross-entropies over a large vocabulary.

They train generators of translations and paraphrases (thesis, 4.6, 5.4, 6.3 and 7.3). Label
smoothing with share e (Szegedy et al., 2016) is

    (1 - e) * mean of -ln p(target)  +  e * mean of -ln p(token), over all tokens of the vocabulary

With a sampled vocabulary (`losses/vocabulary.py`), each column may stand for several tokens. Both
losses are computed in blocks that fit in a CPU's cache. Stock cross-entropy takes 1.8 times as long
(600 tokens, 32,000 entries, one core).
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 2**18  # scores: a megabyte, which fits in a processor's cache
LARGE_BLOCK = 2**26  # on a GPU, only to save memory


def log_likelihoods(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the log probability of each target, (tokens,) nats.

    `scores` are float32 logits, (tokens, vocab), and `targets` ids, (tokens,).
    """
    return -_CrossEntropy.apply(scores, targets, None, None)[0]


def cross_entropy_parts(
    logits: Tensor, targets: Tensor, smoothing: float, weights: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute the smoothed cross-entropy as two weighted terms, whose sum is the loss.

    Args:
        logits: Logits of the next token, (tokens, vocab).
        targets: Columns of the target tokens, (tokens,).
        smoothing: Probability that is spread over all tokens, 0 to below 1.
        weights: Number of vocabulary tokens that each column represents, (vocab,), at least 1.

    Returns:
        Two scalars in nats, averaged over the tokens: the term of the target, and the term of the
        whole vocabulary. The second is None without smoothing.
    """
    share = None
    if smoothing:
        share = logits.new_ones(logits.shape[1]).float() if weights is None else weights
        share = share / share.sum()
    right, everyone = _CrossEntropy.apply(logits, targets, weights, share)
    count = len(targets)
    right = right.sum() / count * (1 - smoothing)
    return right, None if share is None else everyone.sum() / count * smoothing


def _blocks(scores: Tensor) -> list[slice]:
    """Split the rows of scores, (tokens, vocab), into blocks that fit in a CPU's cache."""
    tokens, vocab = scores.shape
    most = BLOCK if scores.device.type == "cpu" else LARGE_BLOCK
    rows = max(1, most // max(1, vocab))
    return [slice(start, start + rows) for start in range(0, tokens, rows)]


class _CrossEntropy(torch.autograd.Function):
    """-ln p of each target, and the mean of -ln p over the vocabulary, by each column's `share`.

    The gradient is softmax minus target distribution. It overwrites the probabilities, so a graph
    allows one backward pass. Probabilities are kept in the type of the logits. Those of the targets
    are kept in float32, because their gradient is p - 1.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, weights: Tensor | None, share: Tensor | None
    ) -> Any:
        probabilities = torch.empty_like(logits)
        right = logits.new_empty(len(logits), 1, dtype=torch.float32)
        everyone, of_targets = torch.empty_like(right), torch.empty_like(right)
        for block in _blocks(logits):
            scores, column = logits[block].float(), targets[block, None]
            largest, part = scores.amax(1, keepdim=True), probabilities[block]
            found = part if part.dtype == torch.float32 else torch.empty_like(scores)
            torch.sub(scores, largest, out=found).exp_()
            if weights is not None:
                found.mul_(weights)
            total = found.sum(1, keepdim=True)
            part.copy_(found.div_(total))
            of_targets[block] = found.gather(1, column)
            log_total = total.log()
            right[block] = log_total - (scores.gather(1, column) - largest)
            if share is not None:
                everyone[block] = log_total + largest - (scores * share).sum(1, keepdim=True)
        ctx.save_for_backward(probabilities, of_targets, targets[:, None], share)
        return right[:, 0], None if share is None else everyone[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:  # type: ignore[override]
        probabilities, of_targets, targets, share = ctx.saved_tensors
        of_right = slope = gradients[0][:, None]
        of_everyone: Any = None if share is None else gradients[1][:, None]
        if share is not None:
            slope = of_right + of_everyone
        to_targets = of_targets * slope - of_right
        if share is not None:
            to_targets -= of_everyone * share[targets]
        for block in _blocks(probabilities):
            part = probabilities[block]
            found = part.float().mul_(slope[block])
            if share is not None:
                found -= of_everyone[block] * share
            part.copy_(found.scatter_(1, targets[block], to_targets[block]))
        return probabilities, None, None, None
