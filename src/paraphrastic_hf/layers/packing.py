"""Three layouts of a batch's token vectors: flat, packed and padded (thesis, 3.1.2 and 5.4).

Flat: the texts concatenated. Packed: first tokens of all texts, longest text first, then all second
tokens and so on, as in torch's `PackedSequence`. Recurrences read this order without computing
padding. Padded: (batch, seq). Lengths may stay on the CPU, so that no step waits for a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Conversion between flat and packed order."""

    order: Tensor  # flat index of each packed vector, (tokens,)
    sizes: list[int]  # texts with a token at each step, not increasing. [0] without tokens.

    @classmethod
    def of(cls, lengths: Tensor, *, backward: bool = False) -> Packing:
        """Find the packed order of texts with these lengths, (batch,). 0 is allowed.

        `backward` reads every text from its last token to its first.

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
        """Bring flat vectors, (tokens, dim), into packed order, (tokens, dim)."""
        return rows.index_select(0, self.order)

    def unpack(self, states: Tensor) -> Tensor:
        """Bring packed vectors, (tokens, dim), into flat order, (tokens, dim)."""
        return states.index_select(0, torch.argsort(self.order))


def padded_from_flat(vectors: Tensor, is_token: Tensor) -> Tensor:
    """Return flat vectors as a padded tensor, (batch, seq, dim), with zeros as padding.

    `is_token`, (batch, seq), is True at the positions of tokens.
    """
    padded = vectors.new_zeros(*is_token.shape, vectors.shape[1])
    padded[is_token] = vectors
    return padded


@dataclass(frozen=True)
class Padding:
    """Positions of the tokens of texts in a matrix (batch, longest), with padding on the right."""

    lengths: Tensor  # number of tokens of each text, (batch,), on the device of the tokens
    longest: int  # number of columns
    text: Tensor  # index of each token's text, (tokens,)
    places: Tensor | None  # position of each token in the flattened matrix. None if all are full.

    @classmethod
    def of(
        cls, lengths: Tensor, device: torch.device | None = None, longest: int | None = None
    ) -> Padding:
        """Find the positions of the tokens of a batch of texts, given their lengths, (batch,).

        Tokens are on `device` (default: the device of `lengths`), in `longest` columns (default:
        the greatest length).

        Example:
            >>> padding = Padding.of(torch.tensor([1, 2]))
            >>> padding.pad(torch.tensor([[5.0], [6.0], [7.0]])).squeeze(-1)
            tensor([[5., 0.],
                    [6., 7.]])
        """
        device = lengths.device if device is None else device
        if longest is None:
            longest = int(lengths.max()) if len(lengths) else 0
        text = torch.repeat_interleave(lengths)
        places = None
        if len(text) < len(lengths) * longest:
            before = lengths.cumsum(0) - lengths  # number of tokens in all earlier texts
            ahead = torch.arange(len(lengths), device=lengths.device) * longest - before
            places = moved(torch.arange(len(text), device=text.device) + ahead[text], device)
        return cls(moved(lengths, device), longest, moved(text, device), places)

    @property
    def mask(self) -> Tensor | None:
        """True for tokens, (batch, longest). None without padding."""
        if self.places is None:
            return None
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]

    def pad(self, rows: Tensor) -> Tensor:
        """Return token vectors, (tokens, dim), as (batch, longest, dim), padded with zeros."""
        shape = (len(self.lengths), self.longest, rows.shape[1])
        if self.places is None:
            return rows.view(shape)
        padded = rows.new_zeros(shape[0] * shape[1], shape[2])
        padded[self.places] = rows
        return padded.view(shape)

    def flat(self, padded: Tensor) -> Tensor:
        """Select the tokens, (tokens, *), from (batch, longest, *)."""
        rows = padded.flatten(0, 1)
        return rows if self.places is None else rows.index_select(0, self.places)


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Move a tensor of any shape to a device, without waiting for a GPU."""
    if tensor.device.type == "cpu" and device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
