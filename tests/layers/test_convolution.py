"""Filters are pooled over the windows of each text."""

from __future__ import annotations

import pytest
import torch

from paraphrastic_hf.layers.convolution import PooledFilters
from tests import oracles
from tests.layers.test_recurrent import randomized

LENGTHS = [4, 1, 0, 7, 2]
SIZE, WIDTHS, COUNTS = 3, [1, 2, 4], [2, 3, 2]


def inputs() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(sum(LENGTHS), SIZE, generator=generator, dtype=torch.float64)


def embed(layer: PooledFilters, rows: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    return layer(rows, torch.tensor(lengths)).detach()


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_filters_match_the_slow_loop(activation: str) -> None:
    layer = randomized(PooledFilters(SIZE, WIDTHS, COUNTS, activation))
    filters = [w for group in layer.filters for w in group.weight.transpose(1, 2).tolist()]
    bias = [b for group in layer.filters for b in group.bias.tolist()]
    expected = [
        oracles.pooled_filters(text.tolist(), filters, bias, activation)
        if len(text)
        else [0.0] * sum(COUNTS)
        for text in inputs().split(LENGTHS)
    ]
    found = embed(layer, inputs(), LENGTHS)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
