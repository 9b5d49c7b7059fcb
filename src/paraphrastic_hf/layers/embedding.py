"""Embedding look-ups whose gradient holds only the table rows that a batch used.

They serve every model of the thesis that averages or composes rows of a table (sections 3.1.2 and
5.1.1). A mini-batch uses a few thousand rows of a table of tens of thousands. torch's own gradients
are either as large as the table or hold one row for each token. Here forward and backward are each
one call of the fused embedding-bag kernel, and the gradient is a coalesced sparse tensor, which
`training/engine/row_adam.py` reads. A table stored in a byte or half a byte a number
(`encoders/storage/packing.py`) is unpacked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def weighted_bag(table: Tensor, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
    """Sum the table rows of each text's tokens, each times its weight.

    Args:
        table: Token vectors, (vocab, dim); its gradient holds the used rows only.
        ids: Numbers of table rows, (tokens,), all texts one after the other.
        lengths: Number of ids of each text, (batch,); 0 gives the zero vector.
        weights: Weight of each token, (tokens,); it has no gradient.

    Returns:
        One sum for each text, (batch, dim).

    Example:
        >>> table, lengths = torch.tensor([[0.0], [1.0], [10.0]]), torch.tensor([2, 0, 1])
        >>> weighted_bag(table, torch.tensor([1, 2, 2]), lengths, torch.tensor([1.0, 0.5, 1.0]))
        tensor([[ 6.],
                [ 0.],
                [10.]])
    """
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.long, device=ids.device)
    torch.cumsum(lengths, 0, out=offsets[1:])
    return _WeightedBag.apply(table, ids, offsets, weights)  # type: ignore[no-untyped-call]


def bag_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Sum the table rows of each bag, (bags, dim), for a small table, whose gradient is dense.

    Args:
        table: The vectors to add up, (vocab, dim).
        ids: Numbers of table rows, (bags, width): every bag has as many.
    """
    return _BagRows.apply(table, ids)  # type: ignore[no-untyped-call]


def add_by_row(grad: Tensor, ids: Tensor, count: int) -> Tensor:
    """Give each table row the sum of the gradients of the bags it is in, as `bag_rows` needs it.

    Args:
        grad: Gradient of each bag's sum, (bags, dim).
        ids: Numbers of table rows, (bags, width), as given to `bag_rows`.
        count: Number of table rows.

    Returns:
        The gradient of the table, (count, dim).
    """
    flat = ids.reshape(-1)
    bags = torch.argsort(flat, stable=True).div(ids.shape[1], rounding_mode="floor")
    offsets = F.pad(torch.bincount(flat, minlength=count).cumsum(0), (1, 0))
    return F.embedding_bag(bags, grad.contiguous(), offsets, mode="sum", include_last_offset=True)


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Return the table row of each token, (tokens, dim); the gradient holds the used rows only.

    Args:
        table: Token vectors, (vocab, dim).
        ids: Numbers of table rows, (tokens,).
    """
    return _Lookup.apply(table, ids)  # type: ignore[no-untyped-call]


def rows_of(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Return the row of each token, (tokens, dim), by `lookup` where the table asks for it.

    Args:
        table: A table; `sparse` says whether its gradient is to hold the used rows only.
        ids: Numbers of table rows, (tokens,).
    """
    return lookup(table.weight, ids) if table.sparse else F.embedding(ids, table.weight)


class _WeightedBag(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(ids, offsets, weights)
        ctx.table_shape = table.shape
        return _bag(table, ids, offsets, weights)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        # The gradient of a table row is the weighted sum of the gradients of the texts it is in, so
        # that the same kernel computes it with rows and texts changed about.
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
    """Sum weighted vectors by the table row that each belongs to; there is no gradient.

    Each term of the sums is one of the vectors times a weight.

    Args:
        vectors: The vectors to add up, (count, dim); a vector may be in several terms.
        ids: The table row that each term belongs to, (terms,), from 0 to 2^31 - 1.
        sources: Which of `vectors` each term is, (terms,).
        weights: The factor of each term, (terms,).

    Returns:
        The distinct ids, ascending, (distinct,), and the sum of each, (distinct, dim).

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
    """Ids in ascending order, and the place that each had before; equal ids keep their order."""
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


SCALE_BYTES = 4  # of a float32 at the end of each row, which its numbers are multiples of
NO_STEPS = 8  # what stands for 0 in half a byte


def unpacked_rows(packed: Tensor, dimension: int) -> Tensor:
    """The numbers of a packed table, (vocab, dimension) float32.

    Args:
        packed: (vocab, dimension + 4) int8, or (vocab, ceil(dimension / 2) + 4) uint8: the first
            half of a row in the lower four bits, the second in the upper ones.
        dimension: How many numbers a row has.

    Raises:
        ValueError: `packed` has another shape or type.

    Example:
        >>> scale = torch.tensor([[0.5]]).view(torch.uint8)
        >>> unpacked_rows(torch.cat([torch.tensor([[0x9A]], dtype=torch.uint8), scale], 1), 2)
        tensor([[1.0000, 0.5000]])
    """
    columns = {torch.int8: dimension, torch.uint8: (dimension + 1) // 2}.get(packed.dtype)
    if columns is None or packed.dim() != 2 or packed.shape[1] != columns + SCALE_BYTES:
        raise ValueError(
            f"a packed table of {dimension} dimensions is (vocab, {dimension + SCALE_BYTES}) int8 "
            f"or (vocab, {(dimension + 1) // 2 + SCALE_BYTES}) uint8, got "
            f"{tuple(packed.shape)} {packed.dtype}"
        )
    steps, ends = packed[:, :columns], packed[:, columns:].flatten().clone()
    scale = ends.view(torch.float32).unsqueeze(1)
    if packed.dtype == torch.uint8:
        steps = torch.cat([steps & 15, steps >> 4], 1)[:, :dimension].float() - NO_STEPS
    return steps * scale
