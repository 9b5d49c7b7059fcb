"""Regression onto a teacher's vectors, after "Making Monolingual Sentence Embeddings Multilingual
using Knowledge Distillation" (Reimers and Gurevych, 2020), with the cosine for the squared error;
and the papers' hinge with the teacher's vectors for the partners and the negatives.
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
