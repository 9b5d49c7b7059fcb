"""Margin loss of every contrastive system in the papers.

In the two-sided loss both sentences of a pair have a negative (thesis, 3.1.3, 3.5.1, 3.7.1; 2017
papers). In the one-sided loss only the first sentence has a negative (thesis, 4.4, 5.1.1, 7.2.1).
The released code and our results use the two-sided loss.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from paraphrastic_hf.layers.embedding import sum_by_row

SIMILARITIES = ("cosine", "dot")
SMALLEST_NORM = 1e-8  # as in F.cosine_similarity


def margin_loss(
    first: Tensor,
    second: Tensor,
    negative_of_first: Tensor,
    negative_of_second: Tensor | None,
    margin: float,
    *,
    similarity: str = "cosine",
    has_negative_of_first: Tensor | None = None,
    has_negative_of_second: Tensor | None = None,
) -> Tensor:
    """Compute the hinge loss that makes a paraphrase more similar than a negative, by a margin.

        max(0, margin - cos(s, t) + cos(s, t')) + max(0, margin - cos(s, t) + cos(t, s'))

    The two-sided hinge has both terms (thesis, 3.1.3), the one-sided hinge only the first (thesis,
    4.4). The result is averaged over the batch, a scalar.

    Args:
        first: Embeddings s, (batch, dim), any scale. The zero vector has cosine 0 with any vector.
        second: Embeddings t of the paraphrases or translations of s, (batch, dim).
        negative_of_first: Embeddings t' of the negatives of s, (batch, dim).
        negative_of_second: Embeddings s' of the negatives of t, (batch, dim), or None for the
            one-sided hinge.
        margin: 0 to 2 for cosines (thesis: 0.4), 0 or more for dot products (thesis: 1).
        similarity: `cosine`, or `dot` for dot products (thesis, 3.5.1).
        has_negative_of_first: False for each s without a negative, whose term is 0, (batch,).
        has_negative_of_second: The same for each t.

    Raises:
        ValueError: If the shapes differ or `similarity` is unknown.

    Example:
        >>> s, t, away = (torch.tensor([[*pair]]) for pair in ((1.0, 0.0), (0.6, 0.8), (0.0, 1.0)))
        >>> margin_loss(s, t, away, -s, 0.8)  # 0.8 - 0.6 + 0, and 0.8 - 0.6 - 0.6
        tensor(0.2000)
        >>> margin_loss(s, t, away, None, 0.9)  # 0.9 - 0.6 + 0 alone
        tensor(0.3000)
    """
    given = [x for x in (first, second, negative_of_first, negative_of_second) if x is not None]
    shapes = {tuple(x.shape) for x in given}
    if len(shapes) != 1:
        raise ValueError(f"All embeddings must have the same shape, got {sorted(shapes)}")
    if similarity not in SIMILARITIES:
        raise ValueError(f"similarity must be one of {', '.join(SIMILARITIES)}, got {similarity!r}")
    compare = F.cosine_similarity if similarity == "cosine" else lambda a, b: (a * b).sum(-1)
    positive = compare(first, second)
    loss_first = torch.relu(margin - positive + compare(first, negative_of_first))
    if has_negative_of_first is not None:
        loss_first = loss_first * has_negative_of_first
    if negative_of_second is None:
        return loss_first.mean()
    loss_second = torch.relu(margin - positive + compare(second, negative_of_second))
    if has_negative_of_second is not None:
        loss_second = loss_second * has_negative_of_second
    return (loss_first + loss_second).mean()


def margin_loss_of_rows(
    vectors: Tensor, rows: Tensor, margin: float, has_negative: Tensor, similarity: str = "cosine"
) -> Tensor:
    """Compute `margin_loss` of embeddings that are rows of one matrix, a scalar.

    With cosines this is several times faster than `margin_loss` on a CPU.

    Args:
        vectors: Embeddings of the texts of a batch, (texts, dim), any scale.
        rows: Row of s, t, t' and s' in `vectors` for each pair, (4, pairs). (3, pairs) without s'
            for the one-sided hinge.
        has_negative: Whether each s has a t' and each t an s', (2, pairs), or (1, pairs) for the
            one-sided hinge. If False, the term is 0.

    Example:
        >>> vectors = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]])
        >>> margin_loss_of_rows(vectors, torch.tensor([[0], [1], [2], [3]]), 0.8, torch.ones(2, 1))
        tensor(0.2000)
    """
    if similarity != "cosine":
        first, second, of_first, *of_second = (vectors.index_select(0, row) for row in rows)
        return margin_loss(
            first,
            second,
            of_first,
            of_second[0] if of_second else None,
            margin,
            similarity=similarity,
            has_negative_of_first=has_negative[0],
            has_negative_of_second=has_negative[1] if of_second else None,
        )
    return _MarginOfRows.apply(vectors, rows, margin, has_negative)  # type: ignore[no-untyped-call]


class _MarginOfRows(torch.autograd.Function):
    """The gradient of each vector is one weighted sum of vectors.

    With a^ = a / |a|, the derivative of cos(a, b) with respect to a is (b^ - cos(a, b) a^) / |a|.
    """

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, rows: Tensor, margin: float, has_negative: Tensor
    ) -> Tensor:
        ctx.dtype = vectors.dtype
        if vectors.dtype in (torch.float16, torch.bfloat16):
            vectors = vectors.float()
        norms = vectors.norm(dim=1).clamp_min_(SMALLEST_NORM)
        left, right = torch.cat([rows[:1], rows[:-2]]), rows[1:]  # s, s and t with t, t' and s'
        first, second, *negatives = (vectors.index_select(0, row) for row in rows)
        dots = [first * second, *map(torch.mul, (first, second), negatives)]
        scale = norms[left] * norms[right]
        cosines = torch.stack([product.sum(1) for product in dots]) / scale
        terms = (margin - cosines[0] + cosines[1:]).clamp_min_(0) * has_negative
        # Derivative of the loss with respect to each cosine, 0 where the hinge is 0.
        slopes = torch.sign(terms) / rows.shape[1]
        slopes = torch.cat([-slopes.sum(0, keepdim=True), slopes])
        ctx.save_for_backward(vectors, norms, left, right, slopes / scale, slopes * cosines)
        return terms.sum() / rows.shape[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        vectors, norms, left, right, of_other, of_own = ctx.saved_tensors
        left, right = left.reshape(-1), right.reshape(-1)
        ends, others = torch.cat([left, right]), torch.cat([right, left])
        of_other, of_own = (weights.reshape(-1).repeat(2) for weights in (of_other, of_own))
        own = torch.zeros_like(norms).index_add_(0, ends, of_own) / norms.square()
        texts = torch.arange(len(vectors), device=vectors.device)
        _, total = sum_by_row(
            vectors,
            torch.cat([texts, ends]),
            torch.cat([texts, others]),
            torch.cat([-own, of_other]) * grad,
        )
        return total.to(ctx.dtype), None, None, None
