import numpy as np
import pytest
import torch

from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.supervised.classifier import ClassifierConfig, ClassifierModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
from paraphrastic_hf.predictors.predict import SentencePredictor, predict_logits


def predictor(tokenizer, kind):
    torch.manual_seed(0)
    encoder = AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=8).to_dict()
    if kind == "relatedness":
        return SentencePredictor(RelatednessModel(RelatednessConfig(encoder=encoder)), tokenizer)
    names = {0: "negative", 1: "positive"}
    config = ClassifierConfig(encoder=encoder, id2label=names, pairs=kind == "entailment")
    return SentencePredictor(ClassifierModel(config), tokenizer)


def test_scores_do_not_depend_on_the_batch(word, sentences):
    ours = predictor(word, "relatedness")
    first, second = sentences, [*sentences[1:], ""]
    sides = [word.encode_batch(column) for column in (first, second)]
    found = predict_logits(ours.model, sides, batch_size=3)[:, 0]
    np.testing.assert_allclose(ours.predict(first, second), found, rtol=1e-5)
    one = ours.predict(first[2:3], second[2:3])
    np.testing.assert_allclose(one, found[2:3], rtol=1e-5)
    assert found.min() >= 1
    assert found.max() <= 5


def test_labels_are_those_of_the_highest_probability(word, sentences):
    ours = predictor(word, "sentiment")
    probabilities = ours.probabilities(sentences)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    expected = [["negative", "positive"][row.argmax()] for row in probabilities]
    assert ours.predict(sentences) == expected


def test_wrong_columns_are_refused(word):
    for kind, *columns in (
        *(("relatedness", ["a"]), ("entailment", ["a"]), ("sentiment", ["a"], ["b"])),
        *(("entailment", ["a"], ["b", "c"]), ("sentiment", "a text")),
    ):
        with pytest.raises(ValueError, match=r"text|list|second"):
            predictor(word, kind).predict(*columns)
    with pytest.raises(ValueError, match="predict"):  # scores have no probabilities
        predictor(word, "relatedness").probabilities(["a"], ["b"])
