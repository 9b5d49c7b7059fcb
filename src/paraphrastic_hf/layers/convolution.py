"""Convolution filters over the tokens of a text, each pooled to its maximum (Kim, 2014; thesis,
3.6.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.activation import ACTIVATIONS
from paraphrastic_hf.layers.pooling import max_rows


class PooledFilters(nn.Module):
    """For each filter w of width n: max over i of f(w . [x_i; ...; x_{i+n-1}] + b).

    Windows lie within the text; one shorter than the filter is filled up with zero vectors, so that
    it has one window. Texts are convolved in one row, a gap of zeros after each, and windows
    that reach into the next text are left out: no work goes into padding.

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

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """(batch, filters) from flat rows, (tokens, size), and lengths, (batch,), 0 allowed."""
        gap = max(self.widths)
        text = torch.repeat_interleave(lengths)
        place = torch.arange(len(rows), device=rows.device) + text * gap
        line = rows.new_zeros(len(rows) + (len(lengths) + 1) * gap, rows.shape[1])
        line = line.index_copy(0, place, rows).T.unsqueeze(0)  # (1, size, tokens and gaps)
        start = torch.arange(len(lengths), device=rows.device) * gap + lengths.cumsum(0) - lengths
        pooled = []
        for width, filters in zip(self.widths, self.filters, strict=True):
            windows = (lengths - width + 1).clamp(min=1) * (lengths > 0)
            first = torch.repeat_interleave(start, windows)
            offset = windows.cumsum(0) - windows
            within = torch.arange(len(first), device=rows.device)
            within = within - torch.repeat_interleave(offset, windows)
            found = filters(line)[0].T.index_select(0, first + within)  # (windows, count)
            pooled.append(max_rows(found, windows))
        highest = ACTIVATIONS[self.activation](torch.cat(pooled, 1))  # f is monotonic
        return highest * (lengths > 0).unsqueeze(1)
