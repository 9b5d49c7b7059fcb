"""Embedding look-ups whose gradient holds only the rows that were used.

A mini-batch uses a few thousand rows of a table of tens of thousands. The stock gradients are
either as large as the table or one row a token; here forward and backward are each one call of the
fused embedding-bag kernel, and the gradient is a coalesced sparse tensor for
`training/optimizers.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def weighted_bag(table: Tensor, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of table rows, one sum a text.

    Args:
        table: (vocab, dim).
        ids: (tokens,) row numbers, all texts one after the other.
        lengths: (batch,) number of ids of each text; 0 gives the zero vector.
        weights: (tokens,) weight of each id; no gradient.

    Returns:
        (batch, dim).
    """
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.long, device=ids.device)
    torch.cumsum(lengths, 0, out=offsets[1:])
    return _WeightedBag.apply(table, ids, offsets, weights)  # type: ignore[no-untyped-call]


def bag_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Sums of table rows, (bags, dim), for a small table: its gradient is dense.

    Args:
        table: (rows, dim).
        ids: (bags, number of rows in each).
    """
    return _BagRows.apply(table, ids)  # type: ignore[no-untyped-call]


def add_by_row(grad: Tensor, ids: Tensor, count: int) -> Tensor:
    """The gradient of `bag_rows`: for each row the sum of the gradients of the bags it is in.

    Args:
        grad: (bags, dim).
        ids: (bags, number of rows in each).
        count: Rows of the table.

    Returns:
        (count, dim).
    """
    flat = ids.reshape(-1)
    bags = torch.argsort(flat, stable=True).div(ids.shape[1], rounding_mode="floor")
    offsets = F.pad(torch.bincount(flat, minlength=count).cumsum(0), (1, 0))
    return F.embedding_bag(bags, grad.contiguous(), offsets, mode="sum", include_last_offset=True)


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Table rows, (tokens, dim), with a gradient of the used rows only.

    Args:
        table: (vocab, dim).
        ids: (tokens,) row numbers.
    """
    return _Lookup.apply(table, ids)  # type: ignore[no-untyped-call]


class _WeightedBag(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(ids, offsets, weights)
        ctx.table_shape = table.shape
        return _bag(table, ids, offsets, weights)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        # Roles swap: a used row's gradient is the weighted sum of the gradients of the texts it is
        # in.
        ids, offsets, weights = ctx.saved_tensors
        order = torch.argsort(ids, stable=True)
        text_of_token = torch.repeat_interleave(torch.diff(offsets))
        values, rows = _sum_by_row(
            grad.contiguous(), ids[order], text_of_token[order], weights[order]
        )
        return _row_sparse(rows, values, ctx.table_shape), None, None, None


class _BagRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.count = len(table)
        return F.embedding_bag(ids, table, mode="sum")

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        return add_by_row(grad, ids, ctx.count), None


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.table_shape = table.shape
        return table[ids]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        order = torch.argsort(ids, stable=True)
        values, rows = _sum_by_row(
            grad.contiguous(), ids[order], order, torch.ones_like(grad[:, 0])
        )
        return _row_sparse(rows, values, ctx.table_shape), None


def _sum_by_row(
    grad: Tensor, ids: Tensor, sources: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    rows, counts = torch.unique_consecutive(ids, return_counts=True)
    offsets = torch.zeros(len(rows) + 1, dtype=torch.long, device=ids.device)
    torch.cumsum(counts, 0, out=offsets[1:])
    return _bag(grad, sources, offsets, weights), rows


def _bag(table: Tensor, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    return F.embedding_bag(
        ids,
        table,
        offsets,
        mode="sum",
        per_sample_weights=weights.to(table),
        include_last_offset=True,
    )


def _row_sparse(rows: Tensor, values: Tensor, shape: torch.Size) -> Tensor:
    return torch.sparse_coo_tensor(
        rows[None], values, shape, is_coalesced=True, check_invariants=False
    )
