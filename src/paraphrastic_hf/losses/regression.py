"""Regression onto a teacher's vectors, after "Making Monolingual Sentence Embeddings Multilingual
using Knowledge Distillation" (Reimers and Gurevych, 2020), with the cosine for the squared error.
"""

from __future__ import annotations

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
