"""Weighted average, projection, DAN, CHARAGRAM and charCNN follow their equations."""

import math

import pytest
import torch

from paraphrastic_hf.models.encoders.charagram import CharagramConfig, CharagramModel
from tests import oracles
from tests.models.encoders import new_encoder
from tests.models.test_averaging import embed, padded

TEXT = [3, 7, 7, 2]


@pytest.mark.parametrize("name", ["projection", "dan"])
def test_dense_layers_over_an_average_match_the_slow_loop(name):
    model = new_encoder(name)
    vector = oracles.mean_of_rows(model.embedding.weight.tolist(), TEXT)
    for layer in model.dense:
        torch.nn.init.normal_(layer.bias)
        vector = oracles.add(oracles.times(layer.weight.tolist(), vector), layer.bias.tolist())
        vector = oracles.tanh(vector) if name == "dan" else vector
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(vector))


@pytest.mark.parametrize("pooled_only", [True, False])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [1.25, 2.35]),
        ({"presence": True}, [1.15, 2.15]),
        ({"activation": "tanh"}, [math.tanh(1.25), math.tanh(2.35)]),
    ],
)
def test_charagram_by_hand(settings, expected, pooled_only):
    """Row 2 twice and row 3 once, or by presence each once, with the bias."""
    config = CharagramConfig(vocab_size=4, hidden_size=2, **{"activation": "linear", **settings})
    model = CharagramModel(config).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[0, 0], [0, 0], [0.1, 0.2], [1, 2]]))
        model.bias.copy_(torch.tensor([0.05, -0.05]))
    found = embed(model, torch.tensor([[2, 3, 2]]), pooled_only=pooled_only)
    torch.testing.assert_close(found, torch.tensor([expected]))


@pytest.mark.parametrize("name", ["char_cnn", "char_cnn_no_dense"])
def test_a_char_cnn_matches_the_slow_loop(name):
    """Its initial biases are 0."""
    model = new_encoder(name)
    filters = [w for group in model.filters.filters for w in group.weight.transpose(1, 2).tolist()]
    rows, zeros = model.embedding.weight[TEXT].tolist(), [0.0] * len(filters)
    expected = oracles.pooled_filters(rows, filters, zeros, model.config.activation)
    if model.dense is not None:
        expected = oracles.times(model.dense.weight.tolist(), expected)
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(expected))


def test_the_weighted_average_matches_its_equation():
    model = new_encoder("weighted")
    assert (model.importance.weight == 1).all()
    with torch.no_grad():
        model.importance.weight.uniform_(0.1, 2)
    table, weight = model.embedding.weight, model.importance.weight
    found = embed(model, *padded([[3, 7, 7], [5]]))
    expected = (weight[3] * table[3] + 2 * weight[7] * table[7]) / 3
    torch.testing.assert_close(found, torch.stack([expected, weight[5] * table[5]]))
