"""Cross-entropy of predicted tokens, smoothed toward every token alike (Szegedy et al., 2016;
thesis, 5.4 and 7.3).

    (1 - e) * mean of -ln p(target)  +  e * mean of -ln p(token), over all tokens of the vocabulary
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def cross_entropy_parts(
    logits: Tensor, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor | None]:
    """The two terms of the smoothed cross-entropy, weighted; their sum is the loss.

    Args:
        logits: (tokens, vocab), any scale.
        targets: (tokens,) ids of the right tokens.
        smoothing: Share of the probability that all tokens have alike, 0 to below 1.

    Returns:
        The term of the right token and that of all tokens, scalars in nats, means over the tokens;
        the second is None without smoothing.

    Example:
        >>> import torch
        >>> right, everyone = cross_entropy_parts(torch.zeros(3, 4), torch.tensor([0, 1, 2]), 0.25)
        >>> (right + everyone).exp()  # all four tokens alike
        tensor(4.)
    """
    if not smoothing:
        return F.cross_entropy(logits.float(), targets), None
    log_probabilities = F.log_softmax(logits.float(), -1)
    right = -log_probabilities.gather(1, targets[:, None]).mean()
    return (1 - smoothing) * right, -smoothing * log_probabilities.mean()
