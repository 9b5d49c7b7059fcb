"""The tokens of a batch without its padding: as flat rows, text after text, and step after step.

A recurrence that reads step after step (all first tokens, all second tokens, ...), longest text
first, does no work on padding, and padding cannot reach its states. This is the order of torch's
`PackedSequence`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """How flat rows are reordered for a recurrence, and back.

    Attributes:
        order: (tokens,) row that stands at each place of the packed order.
        sizes: Texts that have a token at each step; they never grow. [0] where there is no token.
    """

    order: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, lengths: Tensor, *, backward: bool = False) -> Packing:
        """The packing of texts of `lengths`, (batch,), 0 allowed.

        With `backward` every text is read from its last token to its first.

        Example:
            >>> packing = Packing.of(torch.tensor([1, 3]))  # rows: a, x, y, z
            >>> packing.order.tolist(), packing.sizes  # x and a, then y, then z
            ([1, 0, 2, 3], [2, 1, 1])
        """
        text = torch.repeat_interleave(lengths)  # (tokens,)
        start = lengths.cumsum(0) - lengths
        step = torch.arange(len(text), device=lengths.device) - start[text]
        if backward:
            step = lengths[text] - 1 - step
        rank = torch.argsort(torch.argsort(lengths, descending=True, stable=True))
        order = torch.argsort(step * len(lengths) + rank[text])
        return cls(order, torch.bincount(step).tolist() or [0])

    def pack(self, rows: Tensor) -> Tensor:
        """Flat rows, (tokens, dim), step after step."""
        return rows.index_select(0, self.order)

    def unpack(self, states: Tensor) -> Tensor:
        """The inverse of `pack`."""
        return states.index_select(0, torch.argsort(self.order))


def spread(rows: Tensor, kept: Tensor) -> Tensor:
    """Flat rows, (tokens, dim), at the True places of `kept`, (batch, seq); zeros elsewhere."""
    states = rows.new_zeros(*kept.shape, rows.shape[1])
    states[kept] = rows
    return states
