"""Convolution filters over the tokens of a text, each pooled to its maximum (Kim, 2014; thesis,
3.6.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.embedding import bag_rows
from paraphrastic_hf.layers.pooling import max_rows
from paraphrastic_hf.layers.product import linear


class PooledFilters(nn.Module):
    """Give each text the highest value that each filter takes in it.

        max over i of f(w . [x_i; ...; x_{i+n-1}] + b), for a filter w of width n

    Windows lie within the text. A text shorter than the filter is filled up with zero vectors, so
    that it has one window; an empty text has the zero vector. The value of a window is a sum over
    its tokens, w_k . x for the token at place k, and one matrix product computes these for all k.
    Where `places` tells which tokens are alike, each distinct token is multiplied once: characters
    are few.

    Args:
        size: Number of dimensions of a token vector x_i.
        widths: Width of each group of filters, in tokens, 1 or more.
        counts: Number of filters in each group.
        activation: The name of f in `ACTIVATIONS`; all of them are monotonic.

    Example:
        >>> filters = PooledFilters(4, [2, 3], [5, 6], "relu")
        >>> filters(torch.ones(7, 4), torch.tensor([3, 0, 4])).shape  # three texts, 7 tokens
        torch.Size([3, 11])
    """

    def __init__(
        self, size: int, widths: Sequence[int], counts: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Conv1d(size, count, width) for width, count in zip(widths, counts, strict=True)
        )
        self.widths = tuple(widths)
        self.activation = activation

    def forward(self, rows: Tensor, lengths: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the pooled values of all filters, (batch, filters).

        Args:
            rows: Token vectors, (tokens, size), text after text. With `places`, one vector for all
                tokens that are alike, (distinct, size), in any order.
            lengths: Number of tokens of each text, (batch,); 0 is allowed.
            places: Which of `rows` each token has, (tokens,), text after text.
        """
        if places is None:
            places = torch.arange(len(rows), device=rows.device)
        start = lengths.cumsum(0) - lengths
        pooled = []
        for width, filters in zip(self.widths, self.filters, strict=True):
            assert isinstance(filters, nn.Conv1d)
            assert filters.bias is not None
            windows = (lengths - width + 1).clamp(min=1) * (lengths > 0)
            ids = self._windows(places, len(rows), start, lengths, windows, width)
            # row r and place k of the filter: r's share in a window that has it at k
            weight = filters.weight.permute(2, 0, 1).flatten(0, 1)  # (width * count, size)
            shares = linear(F.pad(rows, (0, 0, 0, 1)), weight).view(-1, filters.out_channels)
            pooled.append(max_rows(bag_rows(shares, ids), windows) + filters.bias)
        highest = ACTIVATIONS[self.activation](torch.cat(pooled, 1))  # f is monotonic
        return highest * (lengths > 0).unsqueeze(1)

    @staticmethod
    def _windows(
        places: Tensor, nothing: int, start: Tensor, lengths: Tensor, windows: Tensor, width: int
    ) -> Tensor:
        """The rows of `shares` that add up to the value of each window, (windows, width)."""
        text = torch.repeat_interleave(windows)
        within = torch.arange(len(text), device=text.device) - (windows.cumsum(0) - windows)[text]
        k = torch.arange(width, device=text.device)
        token = within.unsqueeze(1) + k  # within its text
        is_text = token < lengths[text].unsqueeze(1)
        token = (token + start[text].unsqueeze(1)).clamp(max=max(len(places) - 1, 0))
        return torch.where(is_text, places[token], nothing) * width + k
