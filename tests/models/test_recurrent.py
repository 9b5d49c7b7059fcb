"""What is special to recurrent encoders: pooling, directions, the identity start, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor

from paraphrastic_hf.layers.recurrent import run_kernel
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig, RecurrentModel
from tests.models.encoders import new_encoder
from tests.models.test_averaging import padded

TEXTS = [[3, 7, 7, 2], [5], [19, 2, 11]]


def states_and_vectors(model: RecurrentModel) -> tuple[list[Tensor], Tensor]:
    ids, mask = padded(TEXTS)
    output = model(ids, mask)
    rows = [
        states[kept.bool()] for states, kept in zip(output.last_hidden_state, mask, strict=True)
    ]
    return [row.detach() for row in rows], output.sentence_embedding.detach()


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("lstm_last", lambda states: states[-1]),
        ("lstm_avg", lambda states: states.mean(0)),
        ("bilstm_max", lambda states: states.max(0).values),
        ("identity_rnn", lambda states: states[-1] / len(states)),
    ],
)
def test_a_vector_is_its_pooled_states(name: str, pool: Any) -> None:
    states, vectors = states_and_vectors(new_encoder(name))
    torch.testing.assert_close(vectors, torch.stack([pool(rows) for rows in states]))


def test_an_identity_rnn_starts_as_the_average_of_its_words() -> None:
    model = new_encoder("identity_rnn")
    means = torch.stack([model.embedding.weight[text].mean(0) for text in TEXTS])
    torch.testing.assert_close(states_and_vectors(model)[1], means.detach())


def test_an_identity_rnn_is_pulled_to_its_start_and_others_to_zero() -> None:
    assert all(to_start for _, to_start in new_encoder("identity_rnn").composition())
    assert not any(to_start for _, to_start in new_encoder("lstm_avg").composition())


def one_way(model: RecurrentModel, cell: int, backward: bool) -> Tensor:
    """States of TEXTS[0] by one of two cells alone."""
    alone = RecurrentModel(RecurrentConfig(vocab_size=20, hidden_size=6)).eval()
    alone.embedding = model.embedding
    alone.cells[0] = model.cells[cell]
    text = TEXTS[0][::-1] if backward else TEXTS[0]
    states = alone(torch.tensor([text])).last_hidden_state[0].detach()
    return states.flip(0) if backward else states


def test_directions_are_added_token_by_token() -> None:
    model = new_encoder("bilstm_avg")
    expected = one_way(model, 0, False) + one_way(model, 1, True)
    torch.testing.assert_close(states_and_vectors(model)[0][0], expected)


def test_directions_go_through_a_tanh_layer() -> None:
    model = new_encoder("bilstm_tanh")
    both = torch.cat([one_way(model, 0, False), one_way(model, 1, True)], 1)
    expected = torch.tanh(model.merge_layer(both)).detach()
    torch.testing.assert_close(states_and_vectors(model)[0][0], expected)


def test_concatenated_directions_have_half_each() -> None:
    model = new_encoder("bilstm_max")
    assert [cell.cell.hidden_size for cell in model.cells] == [3, 3]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cell": "gru"}, "cell must be one of lstm, rnn, identity_rnn, got 'gru'"),
    ({"pooling": "first"}, "pooling must be one of last, mean, max, got 'first'"),
    ({"merge": "sum"}, "merge must be one of add, tanh, concatenate, got 'sum'"),
    ({"cell": "rnn", "output_gate": False}, "rnn has no output gate.*set cell to lstm"),
    ({"cell": "rnn", "activation": "linear"}, "tanh or relu, got 'linear'.*identity_rnn"),
    ({"cell": "identity_rnn"}, "set pooling to last"),
    (
        {"cell": "identity_rnn", "pooling": "last", "embedding_size": 4},
        "hidden_size, 300, must equal embedding_size, 4",
    ),
    ({"bidirectional": True, "pooling": "last"}, "set pooling to mean or max"),
    (
        {"bidirectional": True, "merge": "concatenate", "hidden_size": 301},
        "give an even number, not 301",
    ),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=str)
def test_what_has_no_meaning_is_refused_with_the_way_out(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        RecurrentConfig(**settings)


@pytest.mark.parametrize("name", ["rnn", "lstm_avg_plain"])
def test_the_second_bias_of_a_kernel_stays_fixed_and_is_heard(name: str, tmp_path: Path) -> None:
    cell = {"rnn": {"cell": "rnn"}, "lstm_avg_plain": {"peepholes": False}}[name]
    RecurrentModel(RecurrentConfig(vocab_size=9, hidden_size=4, **cell)).save_pretrained(tmp_path)
    model = RecurrentModel.from_pretrained(tmp_path)
    own = model.cells[0].cell
    assert not own.bias_hh_l0.requires_grad
    assert len(list(model.composition())) == 3
    with torch.no_grad():
        own.bias_hh_l0.fill_(1.0)
        rows = torch.randn(5, 4)
        found = model.cells[0](rows, [2, 2, 1])
        torch.testing.assert_close(found, run_kernel(own, rows, [2, 2, 1]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation": "relu"}, "is of an RNN, and cell is lstm"),
        ({"cell": "identity_rnn", "pooling": "last", "activation": "relu"}, "cell is identity_rnn"),
        ({"merge": "concatenate"}, "is of two directions"),
    ],
)
def test_settings_that_would_change_nothing_are_refused(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        RecurrentConfig(vocab_size=9, hidden_size=4, **settings)
