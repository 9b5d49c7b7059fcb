from functools import partial

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from paraphrastic_hf.models.supervised.classifier import ClassifierModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessModel
from tests.models.encoders import MIXTURES, NAMES, VOCAB, new_encoder
from tests.models.saving import check_saving
from tests.oracles import head_logits, relatedness_loss

EVERY = pytest.mark.parametrize("name", NAMES)
FIRST = [[2, 3, 4], [5], [6, 7]]
SECOND = [[3, 2], [8, 9, 10, 11], [6, 7]]
GOLD = [1.0, 3.6, 5.0]


def relatedness(name="averaging", model_class=RelatednessModel, **settings):
    settings = {"encoder": new_encoder(name).config.to_dict(), "head_size": 7, **settings}
    return model_class(model_class.config_class(**settings)).eval()


classifier = partial(relatedness, model_class=ClassifierModel, num_labels=3)


def pairs(first, second, gap=0):
    """Return a padded batch of pairs, with `gap` masked positions between the texts."""
    rows = zip(first, second, strict=True)
    texts = [[(i, 1, 0) for i in a] + [(9, 0, 0)] * gap + [(i, 1, 1) for i in b] for a, b in rows]
    longest = max(map(len, texts))
    table = torch.tensor([text + [(0, 0, 0)] * (longest - len(text)) for text in texts])
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: table[..., k] for k, name in enumerate(names)}


def embeddings(model, texts):
    rows = [model.encoder(torch.tensor([text]), pooled_only=True) for text in texts]
    return [row.sentence_embedding[0].double().tolist() for row in rows]


def by_oracle(model, features):
    hidden, output = model.head.hidden, model.head.output
    return head_logits(
        features,
        None if hidden is None else hidden.weight.double().tolist(),
        [] if hidden is None else hidden.bias.double().tolist(),
        output.weight.double().tolist(),
        output.bias.double().tolist(),
    )


def pair_features(model):
    sides = zip(embeddings(model, FIRST), embeddings(model, SECOND), strict=True)
    return [
        [x * y for x, y in zip(a, b, strict=True)] + [abs(x - y) for x, y in zip(a, b, strict=True)]
        for a, b in sides
    ]


@pytest.mark.parametrize(("size", "lowest"), [(7, 1), (0, 0)])
def test_relatedness_matches_the_paper(size, lowest):
    model = relatedness(head_size=size, lowest=lowest)
    torch.nn.init.normal_(model.head.output.bias)
    found = model(**pairs(FIRST, SECOND), labels=torch.tensor(GOLD))
    logits = [by_oracle(model, features) for features in pair_features(model)]
    loss, means = relatedness_loss(logits, GOLD, lowest, 5)
    assert found.loss.item() == pytest.approx(loss, rel=1e-5)
    assert found.logits[:, 0].tolist() == pytest.approx(means, rel=1e-5)
    torch.testing.assert_close(found.score_logits, torch.tensor(logits))


@pytest.mark.parametrize("pairs_of_texts", [True, False])
def test_entailment_and_sentiment_match_the_paper(pairs_of_texts):
    model = classifier(pairs=pairs_of_texts)
    gold = torch.tensor([0, 2, 1])
    if pairs_of_texts:
        given, features = pairs(FIRST, SECOND), pair_features(model)
    else:
        given = {"input_ids": torch.tensor([[2, 3, 4]] * 3)}
        features = embeddings(model, FIRST[:1]) * 3
    found = model(**given, labels=gold)
    logits = torch.tensor([by_oracle(model, each) for each in features])
    torch.testing.assert_close(found.logits, logits)
    torch.testing.assert_close(found.loss, -logits.log_softmax(1)[range(3), gold].mean())


@EVERY
def test_padding_and_other_pairs_do_not_change_a_score(name):
    model = relatedness(name)
    found = model(**pairs(FIRST, SECOND, gap=2)).logits
    for row in range(3):
        alone = model(**pairs(FIRST[row : row + 1], SECOND[row : row + 1])).logits
        torch.testing.assert_close(found[row : row + 1], alone)
    torch.testing.assert_close(model(**pairs(SECOND, FIRST)).logits, found)  # symmetric


@EVERY
def test_every_parameter_is_trained_and_in_encoder_or_head(name):
    model = relatedness(name).train()
    for table in model.tables():
        table.sparse = True
    model(**pairs(FIRST, SECOND), labels=torch.tensor(GOLD)).loss.backward()
    trained = {key: p for key, p in model.named_parameters() if p.requires_grad}
    assert all(p.grad is not None for p in trained.values())
    head = {key for key in trained if key.startswith("head.")}
    assert sum(1 for _ in model.head_parameters()) == len(head) == 4
    ids = pairs(FIRST, SECOND)["input_ids"]
    used = model.rows_used({"input_ids": ids})
    assert sum(len(rows.unique()) for _, rows in used) == len(ids.unique())
    assert sum(len(table.weight) for table in model.tables()) % VOCAB == 0


@EVERY
def test_a_saved_model_loads_with_equal_weights(name, tmp_path):
    def run(model):
        return model(**pairs(FIRST, SECOND)).logits

    for number, model in enumerate((relatedness(name), classifier(name, pairs=True))):
        check_saving(model, tmp_path / str(number), AutoModelForSequenceClassification, run)


def test_head_dropout_is_only_active_in_training():
    model = relatedness(head_dropout=0.5)
    torch.manual_seed(0)
    for is_training in (True, False):
        scores = [model.train(is_training)(**pairs(FIRST, SECOND)).logits for _ in range(2)]
        assert torch.equal(*scores) != is_training


def test_only_models_with_one_table_can_be_resized():
    model = relatedness()
    assert model.resize_token_embeddings() is model.get_input_embeddings()
    others = model, *map(new_encoder, ("weighted", *MIXTURES))
    calls = [partial(other.resize_token_embeddings, VOCAB + 2) for other in others]
    for call in (*calls, partial(model, torch.tensor([[2, 3]]))):
        with pytest.raises(ValueError, match=r"Model|token_type_ids"):
            call()
    averaging = new_encoder("averaging")
    averaging.resize_token_embeddings(VOCAB + 2)
    assert averaging.config.vocab_size == VOCAB + 2
