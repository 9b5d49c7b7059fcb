import numpy as np
import pytest
import torch

from paraphrastic_hf import GatedConfig, GatedModel, SentenceEncoder
from paraphrastic_hf.analyses.gates import gate_norms, gates
from paraphrastic_hf.analyses.tagged import TreebankSentence
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import column, word_encoder

WORDS = ["the", "cat", "sleeps", "don", "'t", "here"]
SIZE = 6


def encoder(variant=1, **settings):
    torch.manual_seed(0)
    config = GatedConfig(vocab_size=len(WORDS) + 2, hidden_size=SIZE, variant=variant, **settings)
    return SentenceEncoder(GatedModel(config), WordTokenizer(WORDS))


def shut_for_the(model):
    """Set the gates to 1, except for `the`, whose gate is 1/2."""
    cell = model.model.cells[0]
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.weight_x[:, 0] = 1
        model.model.embedding.weight.fill_(50)
        model.model.embedding.weight[2] = 0  # the
    return model


def test_a_gate_norm_is_the_sum_of_the_gate():
    model = shut_for_the(encoder())
    norms = gate_norms(model, [["The", "cat"], ["zebra", "the"], []])
    np.testing.assert_allclose(norms[0], [SIZE / 2, SIZE])
    np.testing.assert_allclose(norms[1], [np.nan, SIZE / 2])
    assert norms[2].shape == (0,)
    with torch.no_grad():
        model.model.embedding.weight[5] = 0  # don
    np.testing.assert_allclose(gate_norms(model, [["don't", "cat"]])[0], [0.75 * SIZE, SIZE])


@pytest.mark.parametrize("variant", [1, 2, 3, 4, 5])
def test_gates_reproduce_the_states(variant):
    """For the first token, where a_{t-1} is 0."""
    model = encoder(variant)
    cell, ids = model.model.cells[0], torch.tensor([3])
    with torch.no_grad():
        rows = model.model.token_rows(ids)
        states, opened = cell.states_and_gates(rows, [1])
        hidden = cell.lstm(rows, [1])
    expected = opened[:, :SIZE] * (hidden if variant == 2 else rows)
    if variant == 5:
        expected = expected + opened[:, SIZE:] * hidden
    torch.testing.assert_close(states, expected)
    norm = gate_norms(model, [["cat"]])[0][0]
    assert norm == pytest.approx(opened[:, :SIZE].sum().item())
    assert 0 < norm < SIZE


def test_batching_does_not_change_gate_norms():
    model = encoder(bidirectional=True)
    texts = [["the", "cat", "sleeps"], ["cat"], ["here", "zebra", "cat"]]
    together = gate_norms(model, texts)
    for words, norms in zip(texts, together, strict=True):
        np.testing.assert_allclose(gate_norms(model, [words])[0], norms, rtol=1e-5)


def test_two_directions_are_averaged():
    model = encoder(bidirectional=True)
    forward, backward = encoder(), encoder()
    for one, cell in zip((forward, backward), model.model.cells, strict=True):
        one.model.embedding, one.model.cells[0] = model.model.embedding, cell
    there = gate_norms(forward, [["the", "cat"]])[0]
    back = gate_norms(backward, [["cat", "the"]])[0][::-1]
    np.testing.assert_allclose(gate_norms(model, [["the", "cat"]])[0], (there + back) / 2)


def tagged():
    short = TreebankSentence(["the", "cat"], ["DT", "JJ"], ["det", "amod"])
    return [short] * 3 + [TreebankSentence(["cat"] * 16, ["JJ"] * 16, ["root"] * 16)]


def test_tables_rank_tags_and_relations_of_short_sentences():
    analysis = gates(shut_for_the(encoder()), tagged(), least=3)
    tags, relations, adjectives, _ = analysis.tables
    assert tags.rows == [["JJ", 3, 6.0, "top 7"], ["DT", 3, 3.0, "bottom 4"]]
    assert column(relations, "name") == ["amod", "det"]
    assert adjectives.rows == [["amod", 3, 6.0, 143.1]]
    assert not gates(shut_for_the(encoder()), tagged(), least=4).tables[0].rows


def test_gates_need_a_gated_model_and_relations():
    marked = encoder()
    marked.tokenizer = MarkedTokenizer(WordTokenizer(WORDS[:-2]), "both")
    for model in (word_encoder({"the": (1, 2)}), 3, marked):
        with pytest.raises(ModelError):
            gates(model, tagged())
    with pytest.raises(DataError):
        gates(encoder(), [TreebankSentence(["the"], ["DT"], [])])
