"""Losses for distillation and for relatedness scores.

Distillation moves student vectors toward a teacher's vectors (Reimers and Gurevych, 2020, with
cosine instead of squared error). Relatedness scores become distributions over integers, which are
compared by KL divergence (Tai et al., 2015; thesis, 3.2.4).
"""

import torch
from torch import Tensor
from torch.nn import functional as F


def cosine_distance(vectors: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of 1 - cos(vector, target), 0 to 2, of (batch, dim) vectors, a scalar."""
    return 1 - F.cosine_similarity(vectors.float(), targets.float()).mean()


def hinge_of_targets(vectors: Tensor, targets: Tensor, texts: Tensor, margin: float) -> Tensor:
    """Compute the margin loss (thesis, 4.4) of student vectors and their targets, a scalar.

    The negative is the most similar target of another text. Unlike cosine regression, this loss
    also moves a vector away from other targets, as translation retrieval requires. Vectors and
    nonzero targets are (batch, dim). `texts` is the index of the text that each target encodes,
    (batch,). The margin is a cosine.
    """
    cosines = F.normalize(vectors.float(), dim=1) @ F.normalize(targets.float(), dim=1).T
    same = texts[:, None] == texts
    nearest = cosines.masked_fill(same, -torch.inf).max(1).values  # -inf without another text
    return (margin - cosines.diagonal() + nearest).clamp(min=0).mean()


def score_distribution(scores: Tensor, lowest: int, highest: int) -> Tensor:
    """Return the distribution over the two nearest integers whose mean is the score.

        p_i = y - floor(y) at floor(y) + 1,   floor(y) - y + 1 at floor(y),   0 elsewhere

    For example, a score y of 3.6 gives p(3) = 0.4 and p(4) = 0.6. Scores are (batch,), from
    `lowest` to `highest`, 1 to K in the papers. The result is (batch, highest - lowest + 1).
    """
    if len(scores) and not (scores.min() >= lowest and scores.max() <= highest):
        raise ValueError(
            f"scores must be from {lowest} to {highest}, got {scores.min():g} to {scores.max():g}"
        )
    below = scores.floor().clamp(max=highest - 1)  # for the highest score p(below + 1) is 1
    part = (scores - below).unsqueeze(1)
    place = (below - lowest).long().unsqueeze(1)
    empty = scores.new_zeros(len(scores), highest - lowest + 1)
    return empty.scatter(1, place, 1 - part).scatter(1, place + 1, part)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """Return the mean of KL(target || softmax(logits)) in nats, both (batch, K), a scalar."""
    log_ratio = torch.special.xlogy(target, target) - target * logits.log_softmax(1)
    return log_ratio.sum(1).mean()


def expected_score(logits: Tensor, lowest: int) -> Tensor:
    """Return the mean of softmax(logits) over the integers from `lowest`, (batch,)."""
    numbers = torch.arange(lowest, lowest + logits.shape[1], device=logits.device)
    return logits.softmax(1) @ numbers.to(logits.dtype)
