"""The token vectors of a batch in three forms: flat, packed and padded.

Flat is text after text. Packed is step after step: the first tokens of all texts, then all second
tokens, and so on, at each step the longest text first, which is the order of torch's
`PackedSequence`. The recurrences of the thesis (section 3.1.2) read packed vectors, so that they
do no work on padding, and padding cannot reach their states. Padded is a rectangle (thesis, 5.4):
lengths that stay on the CPU say where its tokens are, so that no step waits for a GPU.
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


@dataclass(frozen=True)
class Padding:
    """Where the tokens of texts stand in (batch, longest), with padding after them.

    Attributes:
        lengths: Number of tokens of each text, (batch,), on the device of the tokens.
        longest: Places of a row: the greatest of them, 0 if there are none, or more.
        text: Number of the text that each token is of, (tokens,).
        places: Number of each token's place, row after row, (tokens,); None where every place has
            a token.
    """

    lengths: Tensor
    longest: int
    text: Tensor
    places: Tensor | None

    @classmethod
    def of(
        cls, lengths: Tensor, device: torch.device | None = None, longest: int | None = None
    ) -> Padding:
        """Find the places of texts of these lengths.

        Args:
            lengths: Number of tokens of each text, (batch,) int64; 0 is allowed.
            device: Where the tokens are; where the lengths are if None.
            longest: Number of places of a row, at least as many as the longest text has tokens; as
                many if None.

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
            before = lengths.cumsum(0) - lengths  # tokens of the texts before each
            ahead = torch.arange(len(lengths), device=lengths.device) * longest - before
            places = moved(torch.arange(len(text), device=text.device) + ahead[text], device)
        return cls(moved(lengths, device), longest, moved(text, device), places)

    @property
    def mask(self) -> Tensor | None:
        """True for tokens, (batch, longest); None where every place has one."""
        if self.places is None:
            return None
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]

    def pad(self, rows: Tensor) -> Tensor:
        """Put token vectors, (tokens, dim), at their places, (batch, longest, dim); zeros are
        between them."""
        shape = (len(self.lengths), self.longest, rows.shape[1])
        if self.places is None:
            return rows.view(shape)
        padded = rows.new_zeros(shape[0] * shape[1], shape[2])
        padded[self.places] = rows
        return padded.view(shape)

    def flat(self, padded: Tensor) -> Tensor:
        """Take what is at the places of tokens, (tokens, *), out of (batch, longest, *)."""
        rows = padded.flatten(0, 1)
        return rows if self.places is None else rows.index_select(0, self.places)


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Move a tensor to a device, without waiting for a GPU.

    Args:
        tensor: What to move, any shape.
        device: Where to.

    Returns:
        The tensor there, in the shape given; itself where it is there already.

    Example:
        >>> moved(torch.tensor([1, 2]), torch.device("cpu"))
        tensor([1, 2])
    """
    if tensor.device.type == "cpu" and device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
