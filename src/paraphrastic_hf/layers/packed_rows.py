"""The rows of a table that is stored in a byte or half a byte a number, as float32: those that an
average (thesis, 3.1.2) takes means of.

How they are packed is described in `encoders/storage/packing.py`, which reads them without torch.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
