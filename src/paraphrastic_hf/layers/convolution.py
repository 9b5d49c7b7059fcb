"""Convolution filters over the tokens of a text, each pooled to its maximum (Kim, 2014; thesis,
3.6.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.activation import ACTIVATIONS
from paraphrastic_hf.layers.embedding import bag_rows
from paraphrastic_hf.layers.pooling import max_rows
from paraphrastic_hf.layers.product import linear


class PooledFilters(nn.Module):
    """For each filter w of width n: max over i of f(w . [x_i; ...; x_{i+n-1}] + b).

    Windows lie within the text; one shorter than the filter is filled up with zero vectors, so that
    it has one window. A window's value is the sum of its tokens' shares, w_k . x, and these are
    one product for all k, over the distinct tokens alone where `places` tells them: characters are
    few.

    Args:
        size: Numbers in x_i.
        widths: Width of each group of filters, in tokens.
        counts: Filters in each group.
        activation: f by name.
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
        """(batch, filters) from flat rows.

        Args:
            rows: (tokens, size), text after text; or, with `places`, once for tokens that are
                alike, (distinct, size), in any order.
            lengths: (batch,), 0 allowed.
            places: (tokens,) row of each token, text after text.
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
        """Rows of `shares` to add up for each window, (windows, width)."""
        text = torch.repeat_interleave(windows)
        within = torch.arange(len(text), device=text.device) - (windows.cumsum(0) - windows)[text]
        k = torch.arange(width, device=text.device)
        token = within.unsqueeze(1) + k  # within its text
        is_text = token < lengths[text].unsqueeze(1)
        token = (token + start[text].unsqueeze(1)).clamp(max=max(len(places) - 1, 0))
        return torch.where(is_text, places[token], nothing) * width + k
