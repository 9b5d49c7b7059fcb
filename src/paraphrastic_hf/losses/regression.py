"""Regression onto a teacher's vectors, after "Making Monolingual Sentence Embeddings Multilingual
using Knowledge Distillation" (Reimers and Gurevych, 2020), with the cosine for the squared error;
and the papers' hinge with the teacher's vectors for the partners and the negatives. Also scores as
distributions over whole numbers, and how far two are apart (Tai et al., 2015; thesis, 3.2.4).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def cosine_distance(vectors: Tensor, targets: Tensor) -> Tensor:
    """One minus the cosine of every vector with its target, averaged; from 0 to 2.

    The length of a vector does not count, as it does not where models are compared by cosine.

    Args:
        vectors: What a student gives, (batch, dim).
        targets: What it should give, (batch, dim), of any length but 0.

    Returns:
        A scalar.

    Example:
        >>> import torch
        >>> cosine_distance(torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 1.0]])).item()
        1.0
    """
    return 1 - F.cosine_similarity(vectors.float(), targets.float()).mean()


def hinge_of_targets(vectors: Tensor, targets: Tensor, texts: Tensor, margin: float) -> Tensor:
    """The margin loss (thesis, 4.4) of every vector with its target and the nearest target of
    another text of the batch, averaged.

    Regression alone asks a student to be near its target; this asks that it be nearer to it than
    to others, which is what finding a translation needs.

    Args:
        vectors: What a student gives, (batch, dim).
        targets: What it should give, (batch, dim), of any length but 0.
        texts: Number of the text that the teacher read for each, (batch,); targets of one text are
            no negatives of each other.
        margin: In units of the cosine, 0 to 2.

    Returns:
        A scalar, 0 to 2 + margin.

    Example:
        >>> import torch
        >>> targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> hinge_of_targets(targets, targets, torch.tensor([0, 1]), 0.4).item()
        0.0
        >>> hinge_of_targets(targets.flip(0), targets, torch.tensor([0, 1]), 0.5).item()
        1.5
    """
    cosines = F.normalize(vectors.float(), dim=1) @ F.normalize(targets.float(), dim=1).T
    same = texts[:, None] == texts
    nearest = cosines.masked_fill(same, -torch.inf).max(1).values  # -inf where all are one text
    return (margin - cosines.diagonal() + nearest).clamp(min=0).mean()


def score_distribution(scores: Tensor, lowest: int, highest: int) -> Tensor:
    """Make of each score the sparse distribution that has it as mean: 3.6 is 0.4 of 3, 0.6 of 4.

        p_i = y - floor(y) at floor(y) + 1,   floor(y) - y + 1 at floor(y),   0 elsewhere

    Args:
        scores: The scores y, (batch,), from `lowest` to `highest`.
        lowest: The lowest whole number that a score can be; 1 in the papers.
        highest: The highest whole number, K in the papers: 5 for relatedness.

    Returns:
        The probability of each whole number, (batch, highest - lowest + 1).

    Raises:
        ValueError: A score is lower than `lowest` or higher than `highest`.

    Example:
        >>> score_distribution(torch.tensor([3.5, 5.0]), 1, 5).tolist()
        [[0.0, 0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    if len(scores) and not (scores.min() >= lowest and scores.max() <= highest):
        raise ValueError(
            f"scores must lie from {lowest} to {highest}, got {scores.min().item():g} to "
            f"{scores.max().item():g}"
        )
    below = scores.floor().clamp(max=highest - 1)  # all of the highest score goes to `below + 1`
    part = (scores - below).unsqueeze(1)
    place = (below - lowest).long().unsqueeze(1)
    empty = scores.new_zeros(len(scores), highest - lowest + 1)
    return empty.scatter(1, place, 1 - part).scatter(1, place + 1, part)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """Return KL(target || softmax(logits)) in nats, averaged over the batch, a scalar.

    Args:
        target: The distributions wanted, (batch, K), as `score_distribution` gives them.
        logits: The model's scores of the K whole numbers, (batch, K).
    """
    log_ratio = torch.special.xlogy(target, target) - target * logits.log_softmax(1)
    return log_ratio.sum(1).mean()


def expected_score(logits: Tensor, lowest: int) -> Tensor:
    """Return the mean of the distribution softmax(logits) over whole numbers, (batch,).

    Args:
        logits: The model's scores of the whole numbers `lowest`, `lowest + 1`, ..., (batch, K).
        lowest: The lowest whole number; 1 in the papers.
    """
    numbers = torch.arange(lowest, lowest + logits.shape[1], device=logits.device)
    return logits.softmax(1) @ numbers.to(logits.dtype)
