"""Projection, DAN, CHARAGRAM and charCNN are their equations, and refuse what is none."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.char_cnn import CharCnnConfig, CharCnnModel
from paraphrastic_hf.models.encoders.charagram import CharagramConfig, CharagramModel, is_first
from paraphrastic_hf.models.encoders.projection import ProjectionConfig
from tests import oracles
from tests.models.encoders import new_encoder
from tests.models.test_averaging import embed

TEXT = [3, 7, 7, 2]


@pytest.mark.parametrize("name", ["projection", "dan"])
def test_dense_layers_over_an_average_are_the_slow_ones(name: str) -> None:
    model = new_encoder(name)
    vector = oracles.mean_of_rows(model.embedding.weight.tolist(), TEXT)
    for layer in model.dense:
        torch.nn.init.normal_(layer.bias)
        vector = oracles.add(oracles.times(layer.weight.tolist(), vector), layer.bias.tolist())
        vector = oracles.tanh(vector) if name == "dan" else vector
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(vector))


def small_charagram(**settings: Any) -> CharagramModel:
    """Rows (0, 0), (0, 0), (1, 2), (10, 20) and bias (0.5, -0.5)."""
    config = CharagramConfig(vocab_size=4, hidden_size=2, activation="linear", **settings)
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


def test_charagram_has_a_tanh() -> None:
    model = small_charagram()
    model.config.activation = "tanh"
    expected = [[math.tanh(1.5), math.tanh(1.5)]]
    torch.testing.assert_close(embed(model, torch.tensor([[2]])), torch.tensor(expected))


def test_the_first_of_each_id_in_each_text() -> None:
    ids, lengths = torch.tensor([5, 7, 5, 7, 7, 5]), torch.tensor([3, 0, 3])
    assert is_first(ids, lengths).tolist() == [True, True, False, True, False, True]


def test_a_cnn_without_a_dense_layer_is_its_filters() -> None:
    model = new_encoder("char_cnn_no_dense")
    filters = [w for group in model.filters.filters for w in group.weight.transpose(1, 2).tolist()]
    rows = model.embedding.weight[TEXT].tolist()
    expected = oracles.pooled_filters(rows, filters, [0.0] * 6, "relu")
    torch.testing.assert_close(embed(model, torch.tensor([TEXT]))[0], torch.tensor(expected))


def test_the_two_filter_sets_of_the_thesis() -> None:
    """525 filters of 3 widths, and 525 of 6."""
    sizes = [175, 175, 175], [25, 50, 75, 100, 125, 150]
    for counts, widths in zip(sizes, ([2, 3, 4], [1, 2, 3, 4, 5, 6]), strict=True):
        config = CharCnnConfig(vocab_size=5, filter_widths=widths, filter_counts=counts)
        assert CharCnnModel(config).dense.in_features == 525


REFUSED: list[tuple[type, dict[str, Any], str]] = [
    (AveragingConfig, {"pooling": "last"}, "no other pooling.*got 'last'.*recurrent"),
    (AveragingConfig, {"embedding_size": 100}, "embedding_size is 100.*use a projection"),
    (ProjectionConfig, {"layers": 3}, "layers must be 1 or 2, got 3"),
    (ProjectionConfig, {"layers": 2}, "two linear layers are one"),
    (ProjectionConfig, {"activation": "gelu"}, "activation must be one of tanh, relu, linear"),
    (CharagramConfig, {"activation": "gelu"}, "activation must be one of tanh, relu, linear"),
    (CharagramConfig, {"embedding_size": 100}, "leave embedding_size out"),
    (CharCnnConfig, {"filter_widths": [2]}, "must be equally many"),
    (CharCnnConfig, {"filter_widths": [0, 1, 2]}, "must be at least 1"),
    (CharCnnConfig, {"activation": "linear"}, "activation must be tanh or relu"),
    (CharCnnConfig, {"dense_activation": "none"}, "set hidden_size to 525, not 300"),
    (CharCnnConfig, {"dense_activation": "gelu"}, "dense_activation must be none or one of"),
]


@pytest.mark.parametrize(("config", "settings", "message"), REFUSED, ids=str)
def test_what_has_no_meaning_is_refused_with_the_way_out(
    config: type, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        config(**settings)
