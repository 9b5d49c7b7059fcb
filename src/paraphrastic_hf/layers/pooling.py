"""Pool token vectors to one vector per text: mean, maximum or last (thesis, 3.1.2 and 5.1.1).

`vectors` are (tokens, dim), texts concatenated. `lengths`, (batch,), are the numbers of tokens. A
text without tokens gets the zero vector.
"""

import torch
from torch import Tensor
from torch.nn import functional as F


def sum_rows(vectors: Tensor, lengths: Tensor, text: Tensor | None = None) -> Tensor:
    """Add up the token vectors of each text, (batch, dim).

    `text` is the index of each token's text, (tokens,). It is computed if None.
    """
    text = torch.repeat_interleave(lengths) if text is None else text
    return vectors.new_zeros(len(lengths), vectors.shape[1]).index_add(0, text, vectors)


def mean_rows(vectors: Tensor, lengths: Tensor, text: Tensor | None = None) -> Tensor:
    """Average the token vectors of each text, (batch, dim). Arguments are as for `sum_rows`."""
    return sum_rows(vectors, lengths, text) / lengths.clamp(min=1).unsqueeze(1).to(vectors.dtype)


def max_rows(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Return the maximum of each dimension over the tokens of each text, (batch, dim)."""
    places = torch.arange(len(vectors), device=vectors.device)
    offsets = F.pad(lengths.cumsum(0), (1, 0))
    return F.embedding_bag(places, vectors, offsets, mode="max", include_last_offset=True)


def last_rows(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Take the last token vector of each text, (batch, dim)."""
    has_tokens = lengths > 0
    last = vectors.index_select(0, (lengths.cumsum(0) - 1)[has_tokens])
    return vectors.new_zeros(len(lengths), vectors.shape[1]).index_copy(
        0, torch.nonzero(has_tokens)[:, 0], last
    )


POOLINGS = {"last": last_rows, "mean": mean_rows, "max": max_rows}
