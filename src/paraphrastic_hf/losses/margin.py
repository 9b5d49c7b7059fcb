"""The margin loss of every contrastive system in the papers (thesis, 3.1.3, 3.5.1, 4.4, 5.1.1)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from paraphrastic_hf.layers.embedding import sum_by_row

SIMILARITIES = ("cosine", "dot")
SMALLEST_NORM = 1e-8  # of F.cosine_similarity


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


def margin_loss_of_rows(
    vectors: Tensor,
    rows: Tensor,
    margin: float,
    has_negative: Tensor,
    similarity: str = "cosine",
) -> Tensor:
    """`margin_loss` of embeddings that stand in one batch; of cosines, several times faster on a
    CPU.

    Their gradient, too, is one weighted sum of the batch's vectors for each vector: with
    a^ = a / |a|, the derivative of cos(a, b) with respect to a is (b^ - cos(a, b) a^) / |a|.

    Args:
        vectors: Embeddings of the texts of a batch, (texts, dim), any scale.
        rows: (4, pairs) where s, t, t' and s' stand.
        margin: As of `margin_loss`.
        has_negative: (2, pairs), False where there is no t', or no s': the term is 0.
        similarity: `cosine` or `dot`.

    Returns:
        Sum of the two terms, averaged over the pairs, scalar.
    """
    if similarity != "cosine":
        first, second, *negatives = (vectors.index_select(0, row) for row in rows)
        return margin_loss(
            first,
            second,
            negatives[0],
            negatives[1],
            margin,
            similarity=similarity,
            has_negative_of_first=has_negative[0],
            has_negative_of_second=has_negative[1],
        )
    return _MarginOfRows.apply(vectors, rows, margin, has_negative)  # type: ignore[no-untyped-call]


class _MarginOfRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, rows: Tensor, margin: float, has_negative: Tensor
    ) -> Tensor:
        ctx.dtype = vectors.dtype
        if vectors.dtype in (torch.float16, torch.bfloat16):
            vectors = vectors.float()
        norms = vectors.norm(dim=1).clamp_min_(SMALLEST_NORM)
        left, right = rows[[0, 0, 1]], rows[[1, 2, 3]]  # (3, pairs): s, s, t with t, t', s'
        first, second, *negatives = (vectors.index_select(0, row) for row in rows)
        dots = [first * second, first * negatives[0], second * negatives[1]]
        scale = norms[left] * norms[right]
        cosines = torch.stack([product.sum(1) for product in dots]) / scale
        terms = (margin - cosines[0] + cosines[1:]).clamp_min_(0) * has_negative
        # How much the loss grows with each cosine; a hinge that is closed does not.
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


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(-1)
