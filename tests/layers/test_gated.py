"""GRAN to GRAN-5 follow the equations of the 2017 paper."""

import pytest
import torch

from paraphrastic_hf.layers.gated import VARIANTS, GatedRecurrence
from tests import oracles
from tests.layers.test_recurrent import LENGTHS, inputs, randomized, run

SIZE = 3


def lists(*tensors):
    return [tensor.tolist() for tensor in tensors]


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_matches_the_slow_loop(variant):
    layer = randomized(GatedRecurrence(SIZE, variant))
    lstm = layer.lstm
    of_lstm = lists(lstm.weight_x, lstm.weight_h, lstm.bias, lstm.peepholes)
    weight_a = layer.weight_a if layer.weight_a is not None else layer.weight_x
    of_gates = lists(layer.weight_x, layer.weight_h, weight_a, layer.bias)
    expected = []
    for text in inputs(SIZE).split(LENGTHS):
        x = text.tolist()
        expected += oracles.gran(x, oracles.lstm(x, *of_lstm), *of_gates, variant) if x else []
    torch.testing.assert_close(run(layer, inputs(SIZE)), torch.tensor(expected).double())
