"""g(x) = 1/n sum_i W[x_i] for any layout of the batch."""

import pytest
import torch
from torch import nn

from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from tests import oracles

TEXTS = [[3, 7, 7, 2], [5], [], [19, 2, 11, 4, 6, 8]]


def padded(texts, extra=0, left=False, filler=0):
    """Return ids and mask, with `extra` columns more than needed."""
    width = max(map(len, texts)) + extra
    ids = torch.full((len(texts), width), filler)
    mask = torch.zeros(len(texts), width, dtype=torch.long)
    for row, text in enumerate(texts):
        start = width - len(text) if left else 0
        ids[row, start : start + len(text)] = torch.tensor(text, dtype=torch.long)
        mask[row, start : start + len(text)] = 1
    return ids, mask


def embed(model, ids, mask=None, pooled_only=True):
    return model(ids, mask, pooled_only=pooled_only).sentence_embedding.detach()


def new_model(sparse=False, **settings):
    torch.manual_seed(0)
    model = AveragingModel(AveragingConfig(vocab_size=20, hidden_size=6, **settings))
    model.embedding.sparse = sparse
    return model


@pytest.mark.parametrize("pooled_only", [True, False])
def test_an_embedding_is_the_mean_of_rows(model, pooled_only):
    table = model.embedding.weight.double().tolist()
    expected = [oracles.mean_of_rows(table, text) for text in TEXTS]
    found = embed(model, *padded(TEXTS), pooled_only=pooled_only)
    torch.testing.assert_close(found, torch.tensor(expected))


def test_outputs_hold_token_vectors_and_their_mean(model):
    ids, mask = padded(TEXTS)
    output = model(ids, mask)
    assert output.last_hidden_state.shape == (4, 6, 6)
    assert torch.equal(output.sentence_embedding, output.pooler_output)
    assert model(ids, mask, pooled_only=True).last_hidden_state is None
    states, embedding, _ = model(ids, mask, return_dict=False)
    assert torch.equal(states, output.last_hidden_state)
    assert torch.equal(embedding, output.sentence_embedding)
    assert torch.equal(embed(model, ids), embed(model, ids, torch.ones_like(ids)))
    with pytest.raises(ValueError, match="4, 6"):
        model(ids, mask[:, :2])


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("pooled_only", [True, False])
@pytest.mark.parametrize("settings", [{"word_dropout": 0.3}, {"embedding_dropout": 0.3}], ids=str)
def test_dropout_keeps_the_expectation(settings, pooled_only, sparse):
    """Mean of 10,000 copies within 5 standard errors: rows are about 1, so 5 x 0.7 / 100."""
    model = new_model(sparse, **settings)
    ids = torch.tensor([[3, 7, 2]]).expand(10_000, 3)
    found = embed(model.train(), ids, pooled_only=pooled_only)
    assert found.std(0).min() > 0.01
    torch.testing.assert_close(found.mean(0), embed(model.eval(), ids)[0], rtol=0, atol=0.035)


def test_word_dropout_zeroes_whole_rows():
    states = new_model(word_dropout=0.5).train()(torch.full((1, 200), 3)).last_hidden_state[0]
    dropped = (states == 0).sum(1)
    assert set(dropped.tolist()) == {0, 6}


def test_the_initial_table_has_the_configured_spread():
    """20,000 normal numbers: their standard deviation is known to 2 %, 4 of its own."""
    torch.manual_seed(0)
    config = AveragingConfig(vocab_size=201, hidden_size=100, initializer_std=0.01)
    table = AveragingModel(config).embedding.weight
    assert table[0].abs().max() == 0
    assert table[1:].std().item() == pytest.approx(0.01, rel=0.02)
    assert abs(table[1:].mean().item()) < 4 * 0.01 / 20_000**0.5


def test_the_table_can_only_be_replaced_by_a_table(model):
    table = nn.Embedding(20, 6)
    model.set_input_embeddings(table)
    assert model.get_input_embeddings() is table
    with pytest.raises(TypeError):
        model.set_input_embeddings(nn.Linear(6, 6))
