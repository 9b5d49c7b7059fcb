"""Convolution filters over tokens with max pooling (Kim, 2014; thesis, 3.6.2)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.embedding import bag_rows
from paraphrastic_hf.layers.pooling import max_rows
from paraphrastic_hf.layers.product import linear


class PooledFilters(nn.Module):
    """Convolution filters with max pooling over each text.

        max over i of f(w . [x_i; ...; x_{i+n-1}] + b), for a filter w of width n

    `counts` are the numbers of filters of each of the `widths`. `activation` is the name of f in
    `ACTIVATIONS`, which must be monotonic. Windows lie within the text. A text shorter than the
    filter is padded with zero vectors. An empty text gets the zero vector.
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

        `rows` are token vectors, (tokens, size), texts concatenated. With `places`, (tokens,), they
        are the vectors of distinct tokens, and token i has row `places[i]`.
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
            # shares[r * width + k]: product of row r and position k of each filter
            weight = filters.weight.permute(2, 0, 1).flatten(0, 1)  # (width * count, size)
            shares = linear(F.pad(rows, (0, 0, 0, 1)), weight).view(-1, filters.out_channels)
            pooled.append(max_rows(bag_rows(shares, ids), windows) + filters.bias)
        highest = ACTIVATIONS[self.activation](torch.cat(pooled, 1))  # f is monotonic
        return highest * (lengths > 0).unsqueeze(1)

    @staticmethod
    def _windows(
        places: Tensor, padding: int, start: Tensor, lengths: Tensor, windows: Tensor, width: int
    ) -> Tensor:
        """Return the rows of `shares` to add up for each window, (windows, width)."""
        text = torch.repeat_interleave(windows)
        within = torch.arange(len(text), device=text.device) - (windows.cumsum(0) - windows)[text]
        k = torch.arange(width, device=text.device)
        token = within.unsqueeze(1) + k  # position in the text
        is_text = token < lengths[text].unsqueeze(1)
        token = (token + start[text].unsqueeze(1)).clamp(max=max(len(places) - 1, 0))
        return torch.where(is_text, places[token], padding) * width + k
