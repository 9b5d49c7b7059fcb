import pytest
import torch

from paraphrastic_hf.layers.convolution import PooledFilters
from tests import oracles
from tests.layers.test_recurrent import INPUT, LENGTHS, inputs, randomized


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_filters_match_the_slow_loop(activation):
    layer = randomized(PooledFilters(INPUT, [1, 2, 4], [2, 3, 2], activation))
    filters = [w for group in layer.filters for w in group.weight.transpose(1, 2).tolist()]
    bias = [b for group in layer.filters for b in group.bias.tolist()]
    expected = [
        oracles.pooled_filters(text.tolist(), filters, bias, activation) if len(text) else [0.0] * 7
        for text in inputs().split(LENGTHS)
    ]
    found = layer(inputs(), torch.tensor(LENGTHS)).detach()
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
