import pytest
import torch

from paraphrastic_hf.layers.recurrent import run_kernel
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig, RecurrentModel
from tests.models.encoders import new_encoder
from tests.models.test_averaging import padded

TEXTS = [[3, 7, 7, 2], [5], [19, 2, 11]]


def states_and_vectors(model):
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
        *((f"gran_{variant}", lambda states: states.mean(0)) for variant in (0, 1, 2, 5)),
        *((f"gran_{variant}", lambda states: states[-1] / len(states)) for variant in (3, 4)),
    ],
)
def test_vectors_are_pooled_states(name, pool):
    """GRAN-3 and 4 keep running sums of gated vectors."""
    states, vectors = states_and_vectors(new_encoder(name))
    torch.testing.assert_close(vectors, torch.stack([pool(rows) for rows in states]))


def test_an_identity_rnn_and_a_gran_with_open_gates_are_the_average():
    identity, gran = new_encoder("identity_rnn"), new_encoder("gran_1")
    with torch.no_grad():
        gran.cells[0].weight_x.zero_(), gran.cells[0].weight_h.zero_()
        gran.cells[0].bias.fill_(50)  # sigmoid(50) is 1 to the last bit
    for model in (identity, gran):
        means = torch.stack([model.embedding.weight[text].mean(0) for text in TEXTS])
        torch.testing.assert_close(states_and_vectors(model)[1], means.detach())
    assert all(to_start for _, to_start in identity.composition())  # penalties
    assert not any(to_start for _, to_start in gran.composition())


def one_direction(model, cell, backward):
    """Return the states of TEXTS[0] from one of two cells."""
    alone = new_encoder("lstm_avg" if isinstance(model, RecurrentModel) else "gran_1")
    alone.embedding = model.embedding
    alone.cells[0] = model.cells[cell]
    text = TEXTS[0][::-1] if backward else TEXTS[0]
    states = alone(torch.tensor([text])).last_hidden_state[0].detach()
    return states.flip(0) if backward else states


@pytest.mark.parametrize("name", ["bilstm_avg", "bilstm_tanh", "bigran", "bigran_tanh"])
def test_directions_are_merged_token_by_token(name):
    model = new_encoder(name)
    there, back = one_direction(model, 0, False), one_direction(model, 1, True)
    expected = there + back
    if name.endswith("tanh"):
        expected = torch.tanh(model.merge_layer(torch.cat([there, back], 1))).detach()
    torch.testing.assert_close(states_and_vectors(model)[0][0], expected)


@pytest.mark.parametrize("name", ["rnn", "lstm_avg_plain"])
def test_the_second_bias_of_torchs_cell_is_frozen_but_used(name, tmp_path):
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
