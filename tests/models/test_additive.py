"""Weighted average, projection, DAN, CHARAGRAM and charCNN follow their equations."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from paraphrastic_hf.models.encoders.charagram import CharagramConfig, CharagramModel
from tests import oracles
from tests.models.encoders import new_encoder
from tests.models.test_averaging import embed, padded

TEXT = [3, 7, 7, 2]


@pytest.mark.parametrize("name", ["projection", "dan"])
def test_dense_layers_over_an_average_match_the_slow_loop(name: str) -> None:
    model = new_encoder(name)
    vector = oracles.mean_of_rows(model.embedding.weight.tolist(), TEXT)
    for layer in model.dense:
        torch.nn.init.normal_(layer.bias)
        vector = oracles.add(oracles.times(layer.weight.tolist(), vector), layer.bias.tolist())
        vector = oracles.tanh(vector) if name == "dan" else vector
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(vector))


def small_charagram(**settings: Any) -> CharagramModel:
    """Rows (0, 0), (0, 0), (1, 2), (10, 20) and bias (0.5, -0.5)."""
    config = CharagramConfig(vocab_size=4, hidden_size=2, **{"activation": "linear", **settings})
    model = CharagramModel(config).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[0, 0], [0, 0], [1, 2], [10, 20]]))
        model.bias.copy_(torch.tensor([0.5, -0.5]))
    return model


@pytest.mark.parametrize("pooled_only", [True, False])
def test_charagram_by_hand(pooled_only: bool) -> None:
    """Row 2 twice and row 3 once, with the bias: (12.5, 23.5); by presence (11.5, 21.5)."""
    ids = torch.tensor([[2, 3, 2]])
    counted, present = small_charagram(), small_charagram(presence=True)
    assert embed(counted, ids, pooled_only=pooled_only).tolist() == [[12.5, 23.5]]
    assert embed(present, ids, pooled_only=pooled_only).tolist() == [[11.5, 21.5]]
    squashed = embed(small_charagram(activation="tanh"), ids[:, :1], pooled_only=pooled_only)
    torch.testing.assert_close(squashed, torch.tensor([[math.tanh(1.5), math.tanh(1.5)]]))


def test_a_cnn_without_a_dense_layer_returns_its_filters() -> None:
    model = new_encoder("char_cnn_no_dense")
    filters = [w for group in model.filters.filters for w in group.weight.transpose(1, 2).tolist()]
    rows = model.embedding.weight[TEXT].tolist()
    expected = oracles.pooled_filters(rows, filters, [0.0] * 6, "relu")
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(expected))


def test_the_weighted_average_matches_its_equation() -> None:
    model = new_encoder("weighted")
    assert (model.importance.weight == 1).all()
    with torch.no_grad():
        model.importance.weight.uniform_(0.1, 2)
    table, weight = model.embedding.weight, model.importance.weight
    found = embed(model, *padded([[3, 7, 7], [5]]))
    expected = (weight[3] * table[3] + 2 * weight[7] * table[7]) / 3
    torch.testing.assert_close(found, torch.stack([expected, weight[5] * table[5]]))
