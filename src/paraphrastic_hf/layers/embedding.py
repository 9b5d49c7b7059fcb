"""Embedding look-ups whose gradient holds only the rows that were used.

A mini-batch uses a few thousand rows of a table of tens of thousands. The stock gradients are
either as large as the table or one row a token; here forward and backward are each one call of the
fused embedding-bag kernel, and the gradient is a coalesced sparse tensor for
`training/optimizers.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
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
        text_of_token = torch.repeat_interleave(torch.diff(offsets))
        rows, values = sum_by_row(grad.contiguous(), ids, text_of_token, weights)
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
        places = torch.arange(len(ids), device=ids.device)
        rows, values = sum_by_row(grad.contiguous(), ids, places, torch.ones_like(grad[:, 0]))
        return _row_sparse(rows, values, ctx.table_shape), None


def sum_by_row(
    vectors: Tensor, ids: Tensor, sources: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Weighted sums of vectors, one for each distinct id; no gradient.

    Args:
        vectors: (any, dim).
        ids: (terms,) the row that each term belongs to, from 0 to 2^31 - 1.
        sources: (terms,) number of the vector of each term.
        weights: (terms,) its factor.

    Returns:
        The distinct ids, ascending, (rows,), and the sums, (rows, dim).

    Example:
        >>> vectors, sources = torch.tensor([[1.0], [10.0]]), torch.tensor([0, 1, 1])
        >>> sum_by_row(vectors, torch.tensor([7, 2, 7]), sources, torch.ones(3))
        (tensor([2, 7]), tensor([[10.],
                [11.]]))
    """
    ids, order = _sort(ids)
    rows, counts = torch.unique_consecutive(ids, return_counts=True)
    offsets = torch.zeros(len(rows) + 1, dtype=torch.long, device=ids.device)
    torch.cumsum(counts, 0, out=offsets[1:])
    return rows, _bag(vectors, sources[order], offsets, weights[order])


def _sort(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Ids in order, and the place each had; equal ones keep their order."""
    if ids.device.type != "cpu":
        return torch.sort(ids, stable=True)
    # numpy sorts plain numbers with vector instructions: several times faster than a stable argsort
    keys = (ids.numpy() << 32) | np.arange(len(ids))
    keys.sort()
    return torch.from_numpy(keys >> 32), torch.from_numpy(keys & 0xFFFFFFFF)


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
