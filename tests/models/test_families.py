import pytest
import torch
from transformers import AutoModel

from paraphrastic_hf.losses.margin import margin_loss
from paraphrastic_hf.models import MODEL_CLASSES
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
from tests.models.encoders import NAMES, VOCAB, new_encoder
from tests.models.saving import check_saving
from tests.models.test_averaging import embed, padded

EVERY = pytest.mark.parametrize("name", NAMES)
EMPTY = new_encoder("averaging").config.to_dict()


def texts(model):
    """Return texts of 6, 1, 0 and 9 tokens, for each part of a mixture."""
    found = [[], [], [], []]
    for part in range(model.config.vocab_size // VOCAB):
        for text, own in zip(found, [[3, 7, 7, 2, 9, 3], [5], [], [*range(11, 20)]], strict=True):
            text += [part * VOCAB + token for token in own]
    return found


def test_every_family_is_tested():
    assert {type(new_encoder(name)) for name in NAMES} == set(MODEL_CLASSES)


@EVERY
def test_padding_and_other_texts_do_not_change_the_embedding(name):
    """Padding at either end or within a text, with any ids. Masked states are zeros."""
    model = new_encoder(name)
    ids, mask = padded(texts(model))
    expected = embed(model, ids, mask)
    gap = torch.full_like(ids[:, :1], 5)
    apart = torch.cat([ids[:, :2], gap, ids[:, 2:]], 1)
    kept = torch.cat([mask[:, :2], gap * 0, mask[:, 2:]], 1)
    layouts = [{"extra": 5}, {"left": True}, {"filler": 13}, {"filler": -100}]
    for batch in ((apart, kept), *(padded(texts(model), **layout) for layout in layouts)):
        torch.testing.assert_close(embed(model, *batch), expected)
        found = model(*batch)
        torch.testing.assert_close(found.sentence_embedding.detach(), expected)
        assert found.last_hidden_state.shape[:2] == batch[0].shape
        assert not found.last_hidden_state[batch[1] == 0].any()
    for row, text in enumerate(texts(model)):
        torch.testing.assert_close(embed(model, *padded([text]))[0], expected[row])


@EVERY
def test_flat_and_padded_ids_give_equal_embeddings(name):
    model = new_encoder(name)
    flat = torch.tensor([token for text in texts(model) for token in text], dtype=torch.int32)
    found = model(flat, lengths=torch.tensor([len(text) for text in texts(model)]))
    assert found.last_hidden_state is None
    assert torch.equal(found.sentence_embedding, embed(model, *padded(texts(model))))


def test_flat_ids_need_matching_lengths_and_no_mask():
    model, ids = new_encoder("averaging"), torch.tensor([3, 4])
    for lengths, mask in (([1], None), ([2, 1], None), ([2], ids > 0)):
        with pytest.raises(ValueError, match=r"lengths|ids"):
            model(ids, mask, lengths=torch.tensor(lengths))


@EVERY
def test_a_text_without_tokens_has_the_zero_vector(name):
    model = new_encoder(name)
    size = model.config.hidden_size
    assert embed(model, *padded(texts(model)))[2].tolist() == [0.0] * size
    assert embed(model, torch.zeros(2, 0, dtype=torch.long)).tolist() == [[0.0] * size] * 2
    assert embed(model, torch.zeros(0, 3, dtype=torch.long)).shape == (0, size)


@EVERY
def test_a_saved_model_loads_with_equal_weights(name, tmp_path):
    model = new_encoder(name)
    batch = padded(texts(model))
    check_saving(model, tmp_path, AutoModel, lambda loaded: embed(loaded, *batch))


def gradients(name, sparse):
    model = new_encoder(name, word_dropout=0.2, embedding_dropout=0.3).train()
    for table in model.tables():
        table.sparse = sparse
    torch.manual_seed(1)
    model(*padded(texts(model)), pooled_only=True).sentence_embedding.square().sum().backward()
    assert all(table.weight.grad.is_sparse == sparse for table in model.tables())
    return [p.grad.to_dense() for p in model.parameters() if p.requires_grad]


@EVERY
def test_sparse_and_dense_gradients_are_equal_and_not_0(name):
    for ours, theirs in zip(gradients(name, True), gradients(name, False), strict=True):
        assert ours.abs().max() > 0
        torch.testing.assert_close(ours, theirs)


@EVERY
def test_tables_and_composition_are_all_parameters(name):
    model = new_encoder(name)
    ours = [table.weight for table in model.tables()] + [p for p, _ in model.composition()]
    trained = [p for p in model.parameters() if p.requires_grad]
    assert sorted(map(id, ours)) == sorted(map(id, trained))
    assert sum(len(table.weight) for table in model.tables()) == model.config.vocab_size


@pytest.mark.parametrize("name", ["rnn", "lstm_avg", "lstm_avg_plain", "bilstm_max", "bigran"])
def test_recurrent_weights_are_initially_normal_and_biases_0(name):
    """About 100 numbers: their spread is known to 7 %, times 4 is 28 %."""
    model = new_encoder(name, recurrent_std=0.01)
    found = dict(model.cells.named_parameters())
    weights = torch.cat([p.flatten() for key, p in found.items() if "bias" not in key])
    assert weights.std().item() == pytest.approx(0.01, rel=0.28)
    assert all(p.abs().max() == 0 for key, p in found.items() if "bias" in key)


@pytest.mark.parametrize("name", ["projection", "dan", "char_cnn", "bilstm_tanh"])
def test_dense_layers_are_initially_glorot_uniform_and_biases_0(name):
    head = RelatednessModel(RelatednessConfig(encoder=EMPTY, head_size=60)).head
    modules = [*new_encoder(name).modules(), *head.modules()]
    layers = [module for module in modules if isinstance(module, torch.nn.Linear)]
    for layer in layers:
        bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
        assert 0.8 * bound < layer.weight.abs().max().item() <= bound
        assert layer.bias.abs().max() == 0
    assert len(layers) > 2


def test_rows_used_by_hand():
    """Three tables of 20 rows: ids 3 and 7 belong to the first, 25 is row 5 of the second."""
    model = new_encoder("word_trigram_lstm")
    inputs = {"input_ids": torch.tensor([[7, 3, 25], [3, 0, 0]])}
    rows = [rows.tolist() for _, rows in model.rows_used(inputs)]
    assert rows == [[7, 3, 3, 0, 0], [5], []]


@EVERY
def test_a_tiny_model_overfits_eight_pairs(name):
    """Every pair gets closer than its text is to the next pair's, by the full margin."""
    model = new_encoder(name).train()
    torch.manual_seed(3)
    parts = model.config.vocab_size // VOCAB
    ids = torch.cat([torch.randint(1, VOCAB, (16, 5)) + k * VOCAB for k in range(parts)], 1)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for _ in range(150):
        vectors = model(ids, pooled_only=True).sentence_embedding
        first, second = vectors[:8], vectors[8:]
        loss = margin_loss(first, second, second.roll(1, 0), first.roll(1, 0), 0.4)
        if loss.item() < 0.01:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pytest.fail(f"the loss is still {loss.item():.3f}")


@EVERY
def test_bfloat16_embeddings_are_near_float32_ones(name):
    """bfloat16 keeps 8 bits. A recurrence of nine steps adds up some of their errors."""
    model = new_encoder(name)
    exact = embed(model, *padded(texts(model)))
    half = embed(model.bfloat16(), *padded(texts(model)))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.05, atol=0.05)
