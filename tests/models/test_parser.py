"""Span parser: scores do not depend on the batch, and the loss follows its equation."""

import pytest
import torch
from transformers import AutoModelForTokenClassification

from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
from tests.models.saving import check_saving

WORDS = CharagramConfig(vocab_size=12, hidden_size=6, activation="relu", initializer_std=1.0)
IDS = torch.tensor([[2, 3, 4], [5, 6, 0], [7, 0, 0]])
SENTENCES = torch.tensor([[0, 1, 2, 1], [2, 0, -1, -1]])
CAPITALS = torch.tensor([1, 0, 0])


def new_model(**settings):
    torch.manual_seed(0)
    sizes = {"head_size": 5, "span_size": 7, "recurrent_std": 0.5, **settings}
    labels = ["DT", "NN", "VB"], ["NP", "S", "S+VP"]
    config = ParserConfig.of(WORDS.to_dict(), *labels, **sizes)
    return ParserModel(config).eval()


def run(model, sentences, **labels):
    return model(IDS, (IDS > 0).long(), word_index=sentences, capitals=CAPITALS, **labels)


@pytest.mark.parametrize("layers", [1, 2])
def test_padding_and_other_sentences_do_not_change_scores(layers):
    model = new_model(layers=layers)
    both, alone = run(model, SENTENCES), run(model, SENTENCES[1:, :2])
    torch.testing.assert_close(both.logits[1:, :2], alone.logits)
    torch.testing.assert_close(both.span_scores[1:, :3, :3], alone.span_scores)
    assert torch.equal(both.span_labels[1:, :3, :3], alone.span_labels)
    assert not both.span_scores[1, 3:].any()


def test_span_scores_match_the_equation():
    model = new_model(layers=1)
    output = run(model, SENTENCES[:1])
    rows = model.word_vectors(IDS, (IDS > 0).long(), CAPITALS)[SENTENCES[0]]
    rows = torch.cat([model.ends[:1], rows, model.ends[1:]])
    forward = model.layers[0][0](rows, [1] * 6)
    backward = model.layers[0][1](rows.flip(0), [1] * 6).flip(0)
    for start in range(4):
        for end in range(start + 1, 5):
            first = torch.cat([forward[start], backward[start + 1]])
            last = torch.cat([forward[end], backward[end + 1]])
            hidden = model.place_layer(last) - model.place_layer(first)
            scores = model.scorer(torch.relu(model.norm(hidden)))
            best = scores[1:].argmax() + 1
            assert output.span_labels[0, start, end] == best
            wanted = scores[best] - scores[0]
            torch.testing.assert_close(output.span_scores[0, start, end], wanted)


def test_the_loss_covers_every_span_and_tag():
    model = new_model()
    tags = torch.tensor([[0, 1, 2, 1], [1, 2, -100, -100]])
    phrases = torch.tensor([[0, 0, 4, 2], [0, 0, 2, 1], [1, 0, 2, 3]])
    whole = run(model, SENTENCES, labels=tags, phrases=phrases).loss
    first = run(model, SENTENCES[:1], labels=tags[:1], phrases=phrases[:2])
    of_second = torch.tensor([[0, 0, 2, 3]])
    second = run(model, SENTENCES[1:, :2], labels=tags[1:, :2], phrases=of_second)
    torch.testing.assert_close(whole, (first.loss * 4 + second.loss * 2) / 6)
    whole.backward()
    assert all(each.grad is not None for each in model.parameters() if each.requires_grad)


def test_an_unknown_label_is_ignored():
    model, tags = new_model(), torch.full((1, 2), -100)
    with_all, without = (
        run(
            model,
            SENTENCES[1:, :2],
            labels=tags,
            phrases=torch.tensor([[0, 0, 2, label], [0, 0, 1, 1]]),
        ).loss
        for label in (1, -100)
    )
    assert without < with_all


def test_a_saved_parser_loads_with_the_auto_class(tmp_path):
    def scores(model):
        return run(model, SENTENCES).span_scores

    check_saving(new_model(), tmp_path, AutoModelForTokenClassification, scores)
    output = new_model()(IDS, return_dict=False)
    assert [tuple(each.shape) for each in output] == [(1, 3, 3), (1, 4, 4), (1, 4, 4)]
