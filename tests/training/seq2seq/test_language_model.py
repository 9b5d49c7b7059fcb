"""A language model over sentences: training, loading, generation and scoring."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.likelihood import LanguageScorer
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.runs import log, record, train, weights, written

SENTENCES = [
    "the cat sleeps on the mat", "a dog barks at night", "she reads an old book", "we eat bread",
    "the train leaves at nine", "rain falls on the roof", "he plays the piano", "birds sing",
]  # fmt: skip
SMALL = """
kind: language_model
data: {{sources: [{path}], held_out: 0}}
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 16, heads: 2, feed_forward: 32, layers: 2, dropout: 0}}
training: {{epochs: 60, batch_tokens: 40, accumulate: 2, learning_rate: 0.01, warmup_steps: 5}}
run: {{log_every: 20}}
"""


def write_recipe(folder: Path, text: str = SMALL) -> Path:
    pairs = folder / "pairs.tsv"
    lines = [f"{sentence}\tder satz {n}" for n, sentence in enumerate(SENTENCES)]
    pairs.write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    return written(folder, text.format(path=f"{{path: {pairs}, languages: [en, de]}}"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language-model")
    train(load_recipe(write_recipe(folder)), folder / "out")
    return folder / "out"


def test_it_memorizes_its_sentences(trained):
    assert record(trained)["sentences"] == len(SENTENCES)  # distinct English ones
    scorer = LanguageScorer.from_pretrained(trained)
    shuffled = [" ".join(reversed(text.split())) for text in SENTENCES]
    assert (scorer.score(SENTENCES).perplexity < 3).all()
    assert np.median(scorer.score(shuffled).perplexity) > 20
    losses = log(trained, "loss")
    for line in losses:
        assert line["loss"] == pytest.approx(line["cross_entropy"] + line["smoothing"], rel=1e-6)
    assert losses[-1]["cross_entropy"] < losses[0]["cross_entropy"] / 3
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(trained)


def test_stock_transformers_loads_it_and_generates(trained):
    model = AutoModelForCausalLM.from_pretrained(trained)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    assert model.output.weight is model.embedding.weight
    assert "output.weight" not in weights(trained)
    assert (trained / "generation_config.json").exists()
    assert not (trained / "modules.json").exists()
    prompts = tokenizer(["birds", "the cat"], return_tensors="pt", padding=True)
    for search in ({"do_sample": False}, {"num_beams": 3}, {"num_beams": 3, "use_cache": False}):
        ids = model.generate(**prompts, max_new_tokens=12, **search)
        found = tokenizer.batch_decode(ids, skip_special_tokens=True)
        assert [text.strip() for text in found] == ["birds sing", "the cat sleeps on the mat"]


def test_padding_on_either_side_does_not_change_the_scores(trained):
    model = AutoModelForCausalLM.from_pretrained(trained).eval()
    ids = torch.tensor([[2, 3, 4, 5]])
    alone = model(ids).logits
    for mask in ([1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]):
        padded = torch.zeros(1, 6, dtype=torch.long)
        where = torch.tensor([mask])
        padded[where.bool()] = ids[0]
        found = model(padded, attention_mask=where).logits[where.bool()]
        torch.testing.assert_close(found, alone[0], atol=1e-5, rtol=1e-5)


def test_likelihood_matches_the_token_by_token_sum(trained):
    scorer = LanguageScorer.from_pretrained(trained)
    found = scorer.score([*SENTENCES, "", "zzz"])
    for number, text in enumerate(SENTENCES):
        ids = scorer.tokenizer.encode_batch([text])[0].tolist()
        expected = 0.0
        for place in range(1, len(ids)):
            with torch.no_grad():
                logits = scorer.model(torch.tensor([ids[:place]])).logits[0, -1].double()
            expected += torch.log_softmax(logits, 0)[ids[place]].item()
        assert found.nats[number] == pytest.approx(expected, abs=1e-4)
        assert found.tokens[number] == len(ids) - 1
        perplexity = math.exp(-expected / (len(ids) - 1))
        assert found.perplexity[number] == pytest.approx(perplexity, rel=1e-4)
    assert math.isnan(found.nats[-2])
    assert math.isfinite(found.nats[-1])  # an unknown word is a token


def test_labels_give_the_loss_of_transformers(trained):
    model = AutoModelForCausalLM.from_pretrained(trained).eval()
    ids = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]])
    labels = ids.masked_fill(ids == 0, -100)
    output = model(ids, attention_mask=(ids > 0).long(), labels=labels)
    expected = torch.nn.functional.cross_entropy(
        output.logits[:, :-1].reshape(-1, model.config.vocab_size), labels[:, 1:].reshape(-1)
    )
    torch.testing.assert_close(output.loss, expected)


def test_a_budget_of_steps_ends_the_run(tmp_path):
    settings = ["--training.steps", "7", "--held_out", "1"]
    result = train(load_recipe(write_recipe(tmp_path), settings), tmp_path / "out")
    assert result.step == 7
    scores = {line["step"]: line["development"] for line in log(tmp_path / "out", "development")}
    assert max(scores) == 7
    assert max(scores.values()) == result.best_score == scores[result.best_step]
    found = record(tmp_path / "out")["held_out"]["perplexity"]
    assert found == pytest.approx(math.exp(-result.best_score), rel=1e-4)


def test_texts_must_be_strings(trained):
    scorer = LanguageScorer.from_pretrained(trained)
    assert len(scorer.score(iter(["the cat", "a dog"])).nats) == 2  # type: ignore[arg-type]
    for texts in ("the cat", [None], [b"the cat"]):
        with pytest.raises(TypeError):
            scorer.score(texts)  # type: ignore[arg-type]
