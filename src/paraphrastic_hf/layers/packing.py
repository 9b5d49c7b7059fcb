"""The token vectors of a batch without its padding, in two orders: flat and packed.

Flat is text after text. Packed is step after step: the first tokens of all texts, then all second
tokens, and so on, at each step the longest text first, which is the order of torch's
`PackedSequence`. The recurrences of the thesis (section 3.1.2) read packed vectors, so that they
do no work on padding, and padding cannot reach their states.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """How flat token vectors are brought into packed order, and back.

    Attributes:
        order: Which flat vector stands at each place of the packed order, (tokens,).
        sizes: Number of texts that have a token at each step, which never grows from one step to
            the next; [0] where there is no token at all.
    """

    order: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, lengths: Tensor, *, backward: bool = False) -> Packing:
        """Find the packed order of a batch of texts.

        Args:
            lengths: Number of tokens of each text, (batch,); 0 is allowed.
            backward: Read every text from its last token to its first.

        Example:
            >>> packing = Packing.of(torch.tensor([1, 3]))  # the tokens a, x, y, z
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
        """Bring flat token vectors, (tokens, dim), into packed order, (tokens, dim)."""
        return rows.index_select(0, self.order)

    def unpack(self, states: Tensor) -> Tensor:
        """Bring packed vectors, (tokens, dim), back into flat order, (tokens, dim)."""
        return states.index_select(0, torch.argsort(self.order))


def padded_from_flat(vectors: Tensor, is_token: Tensor) -> Tensor:
    """Put flat token vectors back into a padded tensor, (batch, seq, dim), with zeros as padding.

    Args:
        vectors: Token vectors, (tokens, dim), text after text.
        is_token: Where a token stands, (batch, seq), True at as many places as there are vectors.
    """
    padded = vectors.new_zeros(*is_token.shape, vectors.shape[1])
    padded[is_token] = vectors
    return padded
