"""Embedding lookups whose gradient contains only the table rows of a batch (thesis, 3.1.2, 5.1.1).

The gradient is a coalesced sparse tensor, which `training/engine/row_adam.py` reads. torch's own
gradients are as large as the table or have one row per token. Quantized tables are unpacked here
too.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


def weighted_bag(table: Tensor, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of the table rows of each text's tokens, (batch, dim).

    `ids` and `weights`, (tokens,), are texts concatenated. A length of 0 gives the zero vector. The
    gradient contains only the rows in `ids`. `weights` get none.
    """
    offsets = F.pad(lengths.cumsum(0), (1, 0))
    return _WeightedBag.apply(table, ids, offsets, weights)  # type: ignore[no-untyped-call]


def bag_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Sum the table rows `ids`, (bags, width), of each bag, (bags, dim), with a dense gradient."""
    return _BagRows.apply(table, ids)  # type: ignore[no-untyped-call]


def add_by_row(grad: Tensor, ids: Tensor, count: int) -> Tensor:
    """Return the gradient of `bag_rows`: for each table row, the sum over the bags that contain it.

    `grad` has the gradient of each bag's sum, (bags, dim). The result is (count, dim).
    """
    flat = ids.reshape(-1)
    bags = torch.argsort(flat, stable=True).div(ids.shape[1], rounding_mode="floor")
    offsets = F.pad(torch.bincount(flat, minlength=count).cumsum(0), (1, 0))
    return F.embedding_bag(bags, grad.contiguous(), offsets, mode="sum", include_last_offset=True)


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Return the table row of each token, (tokens, dim). The gradient contains only these rows."""
    each = torch.ones_like(ids)
    return weighted_bag(table, ids, each, each)


def rows_of(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Return the table row of each token, (tokens, dim).

    If `table.sparse`, the gradient contains only these rows.
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
        # The gradient of a table row is the weighted sum of the gradients of its texts. The forward
        # kernel computes this too, with rows and texts swapped.
        ids, offsets, weights = ctx.saved_tensors
        text_of_token = torch.repeat_interleave(torch.diff(offsets))
        rows, values = sum_by_row(grad.contiguous(), ids, text_of_token, weights)
        sparse = torch.sparse_coo_tensor(
            rows[None], values, ctx.table_shape, is_coalesced=True, check_invariants=False
        )
        return sparse, None, None, None


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


def sum_by_row(
    vectors: Tensor, ids: Tensor, sources: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Sum the terms `weights[i] * vectors[sources[i]]` for each table row `ids[i]`.

    Return the distinct ids, ascending, (distinct,), and the sum for each id, (distinct, dim),
    without a gradient. Ids are below 2^31. Several terms may use the same vector.
    """
    ids, order = _sort(ids)
    rows, counts = torch.unique_consecutive(ids, return_counts=True)
    offsets = F.pad(counts.cumsum(0), (1, 0))
    return rows, _bag(vectors, sources[order], offsets, weights[order])


def _sort(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the ids in ascending order and their original positions. The sort is stable."""
    if ids.device.type != "cpu":
        return torch.sort(ids, stable=True)
    # numpy sorts plain numbers with vector instructions, several times faster than an argsort.
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


SCALE_BYTES = 4  # each row ends with a float32 scale
ZERO_NIBBLE = 8  # the 4-bit value that stands for 0


def unpacked_rows(packed: Tensor, dimension: int) -> Tensor:
    """Unpack a quantized table to (vocab, dimension) float32.

    Each row consists of integers and a float32 scale. A value is an integer times the scale. For 8
    bits per value, `packed` is (vocab, dimension + 4) int8. For 4 bits, it is (vocab,
    ceil(dimension / 2) + 4) uint8, with the first half of a row in the lower bits.

    Example:
        >>> scale = torch.tensor([[0.5]]).view(torch.uint8)
        >>> unpacked_rows(torch.cat([torch.tensor([[0x9A]], dtype=torch.uint8), scale], 1), 2)
        tensor([[1.0000, 0.5000]])
    """
    columns = {torch.int8: dimension, torch.uint8: (dimension + 1) // 2}.get(packed.dtype)
    if columns is None or packed.dim() != 2 or packed.shape[1] != columns + SCALE_BYTES:
        raise ValueError(
            f"A packed table of {dimension} dimensions must be (vocab, {dimension + SCALE_BYTES}) "
            f"int8 or (vocab, {(dimension + 1) // 2 + SCALE_BYTES}) uint8, got "
            f"{tuple(packed.shape)} {packed.dtype}"
        )
    steps, ends = packed[:, :columns], packed[:, columns:].flatten().clone()
    scale = ends.view(torch.float32).unsqueeze(1)
    if packed.dtype == torch.uint8:
        steps = torch.cat([steps & 15, steps >> 4], 1)[:, :dimension].float() - ZERO_NIBBLE
    return steps * scale
