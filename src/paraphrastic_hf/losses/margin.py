"""The margin loss of every contrastive system in the papers (thesis, 3.1.3, 3.5.1, 4.4, 5.1.1)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

SIMILARITIES = ("cosine", "dot")


def margin_loss(
    first: Tensor,
    second: Tensor,
    negative_of_first: Tensor,
    negative_of_second: Tensor,
    margin: float,
    *,
    similarity: str = "cosine",
    has_negative_of_first: Tensor | None = None,
    has_negative_of_second: Tensor | None = None,
) -> Tensor:
    """Hinge, both ways, on how much closer a paraphrase is than a negative (thesis, 3.1.3).

        max(0, margin - cos(s, t) + cos(s, t')) + max(0, margin - cos(s, t) + cos(t, s'))

    By hand: with cos(s, t) = 0.5, cos(s, t') = 0.3, cos(t, s') = -0.5 and margin 0.4 the two terms
    are 0.2 and 0 (`tests/losses/test_margin.py`).

    Args:
        first: Embeddings s, (batch, dim), any scale; the zero vector has cosine 0 with everything.
        second: Their paraphrases or translations t, (batch, dim).
        negative_of_first: t', (batch, dim).
        negative_of_second: s', (batch, dim).
        margin: In units of the similarity: of cosine 0 to 2, the thesis uses 0.4; of dot products 0
            or more, the thesis uses 1.
        similarity: `cosine`, or `dot` for dot products in its place (3.5.1).
        has_negative_of_first: (batch,), False where there was no negative to choose: the term is 0.
        has_negative_of_second: Likewise.

    Returns:
        Sum of the two terms, averaged over the batch, scalar.

    Raises:
        ValueError: If the four shapes differ, or `similarity` is neither.
    """
    shapes = {tuple(x.shape) for x in (first, second, negative_of_first, negative_of_second)}
    if len(shapes) != 1:
        raise ValueError(f"the four embeddings must have one shape, got {sorted(shapes)}")
    if similarity not in SIMILARITIES:
        raise ValueError(f"similarity must be one of {', '.join(SIMILARITIES)}, got {similarity!r}")
    compare = F.cosine_similarity if similarity == "cosine" else _dot
    positive = compare(first, second)
    loss_first = torch.relu(margin - positive + compare(first, negative_of_first))
    loss_second = torch.relu(margin - positive + compare(second, negative_of_second))
    if has_negative_of_first is not None:
        loss_first = loss_first * has_negative_of_first
    if has_negative_of_second is not None:
        loss_second = loss_second * has_negative_of_second
    return (loss_first + loss_second).mean()


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(-1)
