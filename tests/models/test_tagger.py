"""Tagger: scores do not depend on the layout, and each distinct word is encoded once."""

import pytest
import torch
from transformers import AutoModelForTokenClassification

from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from tests.models.encoders import SIZE, new_encoder
from tests.models.saving import check_saving

ENCODERS = ["charagram", "char_cnn", "lstm_last"]
EVERY = pytest.mark.parametrize("name", ENCODERS)
TAGS = ["DT", "NN", "VB"]

# Four distinct words, the third without tokens, and two sentences of them.
IDS = torch.tensor([[2, 3, 4, 0], [5, 0, 0, 0], [0, 0, 0, 0], [6, 7, 8, 9]])
MASK = (IDS > 0).long()
CAPITALS = torch.tensor([1, 0, 0, 1])
INDEX = torch.tensor([[0, 1, 0, 2, 3], [3, 3, -1, -1, -1]])


def new_tagger(name, **settings):
    encoder = new_encoder(name).config.to_dict()
    config = TaggerConfig.of(encoder, TAGS, **{"head_size": 5, **settings})
    torch.manual_seed(0)
    return TaggerModel(config).eval()


def scores(model, index=INDEX, **changed):
    inputs = {"input_ids": IDS, "attention_mask": MASK, "capitals": CAPITALS, **changed}
    return model(word_index=index, **inputs).logits


@EVERY
def test_padding_other_sentences_and_order_of_words_do_not_change_scores(name):
    model = new_tagger(name)
    together = scores(model)
    assert together.shape == (2, 5, 3)
    assert together[INDEX >= 0].abs().min() > 0
    assert not together[INDEX < 0].any()
    torch.testing.assert_close(scores(model, INDEX[:1])[0], together[0])
    torch.testing.assert_close(scores(model, INDEX[1:, :2])[0], together[1, :2])
    wide = torch.nn.functional.pad(IDS, (0, 3), value=11)
    mask = torch.nn.functional.pad(MASK, (0, 3))
    longer = torch.nn.functional.pad(INDEX, (2, 4), value=-1)
    found = scores(model, longer, input_ids=wide, attention_mask=mask)
    torch.testing.assert_close(found[:, 2:7], together)
    order = torch.tensor([2, 0, 3, 1])
    index = torch.where(INDEX >= 0, torch.argsort(order)[INDEX.clamp(min=0)], INDEX)
    apart = torch.full_like(INDEX, -1)  # each word encoded once for every place
    apart[INDEX >= 0] = torch.arange((INDEX >= 0).sum())
    for words, places in ((order, index), (INDEX[INDEX >= 0], apart)):
        inputs = {"input_ids": IDS, "attention_mask": MASK, "capitals": CAPITALS}
        given = {name: tensor[words] for name, tensor in inputs.items()}
        torch.testing.assert_close(scores(model, places, **given), together)


def test_empty_sentences_have_no_scores_and_the_default_is_one_sentence():
    model = new_tagger("charagram")
    assert scores(model, INDEX[:0]).shape == (0, 5, 3)
    assert scores(model, torch.full((1, 0), -1)).shape == (1, 0, 3)
    assert scores(model, torch.full((1, 2), -1)).abs().max() == 0
    expected = scores(model, torch.arange(4)[None], capitals=torch.zeros(4, dtype=torch.long))
    torch.testing.assert_close(model(IDS, MASK).logits, expected)


def test_the_capital_feature_can_be_left_out():
    turned = 1 - CAPITALS
    with_it = new_tagger("charagram")
    assert (scores(with_it, capitals=turned) - scores(with_it))[INDEX >= 0].abs().max() > 0
    without = new_tagger("charagram", capital_feature=False)
    assert torch.equal(scores(without, capitals=turned), scores(without))


def test_word_vectors_by_hand():
    """relu(W g + b) and the capital, with W twice the identity and b = 1."""
    model = new_tagger("charagram", word_layer="relu")
    with torch.no_grad():
        model.dense.weight.copy_(2 * torch.eye(SIZE))
        model.dense.bias.fill_(1.0)
    inner = model.encoder(IDS, MASK).sentence_embedding
    found = model.word_vectors(IDS, MASK, CAPITALS)
    torch.testing.assert_close(found[:, :SIZE], torch.relu(2 * inner + 1))
    assert found[:, SIZE].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_the_loss_is_the_mean_over_labeled_words():
    model = new_tagger("charagram")
    labels = torch.tensor([[0, 1, -100, 2, 2], [1, 0, -100, -100, -100]])
    found = model(IDS, MASK, word_index=INDEX, capitals=CAPITALS, labels=labels)
    wanted = -scores(model).log_softmax(-1)[labels >= 0][range(6), labels[labels >= 0]].mean()
    torch.testing.assert_close(found.loss, wanted)
    assert model(IDS, MASK, word_index=INDEX, labels=labels, return_dict=False)[0].ndim == 0


@EVERY
def test_a_saved_tagger_loads_with_equal_weights(name, tmp_path):
    model = new_tagger(name, word_layer="tanh")
    assert model.config.id2label == dict(enumerate(TAGS))
    check_saving(model, tmp_path, AutoModelForTokenClassification, scores)
