"""Supervised runs on synthetic corpora in the official formats."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.predictors.predict import SentencePredictor
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe
from tests.corpora.layouts import SICK_HEADER
from tests.training.runs import recipe_of, record, train, weights

ANIMALS, THINGS = ["cat", "dog", "cow", "hen"], ["book", "lamp", "door", "cup"]
JUDGMENT = {5.0: "ENTAILMENT", 3.0: "NEUTRAL", 1.0: "CONTRADICTION"}
SMALL = """
task: {{kind: {kind}, dataset: {dataset}}}
tokenizer: {{kind: word, vocab_size: 100, marks: {marks}}}
model: {{kind: {model}, hidden_size: 12, embedding_dropout: 0.1, initializer_std: 0.5}}
head: {{size: 10}}
training: {{batch_size: 5, epochs: 30, learning_rate: 1e-2, scramble: 0.3, lambda_w: 1e-5,
  lambda_c: 1e-5, lambda_s: 1e-5}}
run: {{checkpoint_every: 10}}
"""
STARTED = """
task: {{kind: relatedness, dataset: sick}}
start: {start}
model: {{embedding_dropout: 0.0}}
head: {{size: 10}}
training: {{batch_size: 5, epochs: 3, learning_rate: 1e-2}}
"""


def score(first: str, second: str) -> float:
    """Return 5 for equal words, 3 for words of one class, else 1."""
    if first == second:
        return 5.0
    return 3.0 if (first in ANIMALS) == (second in ANIMALS) else 1.0


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write SICK (48, 8 and 8 pairs) and SST (positive if there is an animal) with a few words."""
    root = tmp_path_factory.mktemp("root")
    words = [*ANIMALS, *THINGS]
    rows = [
        (f"the {a} is here .", f"here is the {b} .", score(a, b)) for a, b in product(words, words)
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    splits = {"train": order[:48], "trial": order[48:56], "test_annotated": order[56:]}
    (root / "sick2014").mkdir()
    (root / "sst").mkdir()
    for split, chosen in splits.items():
        lines = [
            "\t".join([str(n), rows[n][0], rows[n][1], str(rows[n][2]), JUDGMENT[rows[n][2]]])
            for n in chosen
        ]
        text = SICK_HEADER + "\n".join(lines) + "\n"
        (root / "sick2014" / f"SICK_{split}.txt").write_text(text, encoding="utf-8")
    for part in ("train", "dev", "test"):
        texts = [f"{int(a in ANIMALS)} a {a} or {b}" for a in words for b in ("so", "not", part)]
        text = "\n".join(texts) + "\n"
        (root / "sst" / f"stsa.binary.{part}").write_text(text, encoding="utf-8")
    return root


def small(folder: Path, *overrides: str, **settings: Any) -> SupervisedRecipe:
    chosen = {"kind": "relatedness", "dataset": "sick", "model": "gated", **settings}
    chosen["marks"] = "none" if chosen["model"] == "averaging" else "end"
    return recipe_of(folder, SMALL.format(**chosen), *overrides)


def run(folder: Path, data: Path, *overrides: str, **settings: Any) -> Path:
    train(small(folder, *overrides, **settings), folder / "out", data_root=data)
    return folder / "out"


@pytest.fixture(scope="module")
def start(data, tmp_path_factory):
    """A word-level GRAN encoder."""
    folder = tmp_path_factory.mktemp("start")
    predictor = SentencePredictor.from_pretrained(run(folder, data, "--epochs", "2"))
    encoder = SentenceEncoder(predictor.model.encoder, predictor.tokenizer)
    encoder.save_pretrained(folder / "encoder")
    return folder / "encoder"


SST = "{name: sst, config: binary}"
LEARNED = {
    "average": ("relatedness", "sick", "averaging", "pearson", 80.0),
    "lstm": ("relatedness", "sick", "recurrent", "pearson", 80.0),
    "gran": ("entailment", "sick_e", "gated", "accuracy", 70.0),  # half the pairs have one class
    "sentiment": ("sentiment", SST, "averaging", "accuracy", 99.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LEARNED)
def test_every_task_is_learned(case, data, tmp_path):
    kind, dataset, model, measure, least = LEARNED[case]
    recipe = small(tmp_path, kind=kind, dataset=dataset, model=model)
    result = train(recipe, tmp_path / "out", data_root=data)
    found = record(tmp_path / "out")
    assert found["measure"] == measure
    assert found["validation"][measure] == pytest.approx(result.best_score, abs=1e-3)
    assert found["validation"][measure] >= least
    assert set(found["test"]) == set(found["validation"])
    assert result.examples == 30 * found["examples"]["train"]


def test_the_saved_model_gives_the_recorded_scores(data, tmp_path):
    out = run(tmp_path, data, "--epochs", "8", "--task.max_length", "5")  # every text is longer
    first, second = ["the cat is", "the dog is"], ["here is the", "a cup"]
    predictor = SentencePredictor.from_pretrained(out)
    ours = predictor.predict(first, second)
    tokenizer = AutoTokenizer.from_pretrained(out)
    model = AutoModelForSequenceClassification.from_pretrained(out)
    found = model(**tokenizer(first, second, padding=True, return_tensors="pt")).logits[:, 0]
    np.testing.assert_allclose(found.detach().numpy(), ours, atol=1e-5)
    scorer = pipeline("text-classification", model=model, tokenizer=tokenizer)
    rows = [{"text": a, "text_pair": b} for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose([row["score"] for row in scorer(rows)], ours, atol=1e-5)
    lines = (data / "sick2014" / "SICK_test_annotated.txt").read_text().splitlines()[1:]
    test = [line.split("\t") for line in lines]
    guesses = np.array(predictor.predict([row[1] for row in test], [row[2] for row in test]))
    gold, scores = np.array([float(row[3]) for row in test]), record(out)["test"]
    assert np.corrcoef(guesses, gold)[0, 1] * 100 == pytest.approx(scores["pearson"], abs=1e-3)
    assert np.square(guesses - gold).mean() == pytest.approx(scores["mse"], rel=1e-4)


def moved(before: Path, after: Path) -> dict[str, float]:
    """Return the distance of each encoder parameter from its initial value."""
    old, new = weights(before), weights(after)
    return {key: float((new[f"encoder.{key}"] - old[key]).norm()) for key in old}


@pytest.mark.parametrize("freeze", ["none", "tables", "encoder"])
def test_only_frozen_parameters_do_not_change(freeze, start, data, tmp_path):
    options = ["--freeze", freeze, "--word_dropout", "0.25"]
    train(
        recipe_of(tmp_path, STARTED.format(start=start), *options), tmp_path / "out", data_root=data
    )
    distance = moved(start, tmp_path / "out")
    table = distance.pop("embedding.weight")
    assert (table == 0) == (freeze != "none")
    assert (max(distance.values()) == 0) == (freeze == "encoder")
    assert weights(tmp_path / "out")["head.hidden.weight"].abs().max() > 0
    ours = SentencePredictor.from_pretrained(tmp_path / "out")
    assert ours.tokenizer.tokens() == SentenceEncoder.from_pretrained(start).tokenizer.tokens()
    assert ours.model.config.encoder["word_dropout"] == 0.25
    assert str(start) not in (tmp_path / "out" / "config.json").read_text()


@pytest.mark.parametrize("key", ["lambda_w", "lambda_c"])
def test_penalties_keep_the_encoder_near_its_start(key, start, data, tmp_path):
    for value in ("0", "10"):
        recipe = recipe_of(tmp_path, STARTED.format(start=start), f"--{key}", value)
        train(recipe, tmp_path / value, data_root=data)
    free, held = (moved(start, tmp_path / value) for value in ("0", "10"))
    for parameter, distance in free.items():
        if (parameter == "embedding.weight") == (key == "lambda_w") and distance > 0:
            assert held[parameter] < 0.2 * distance, parameter


def test_the_head_is_regularized_toward_zero(data, tmp_path):
    for value in ("0", "1"):
        recipe = small(tmp_path, "--lambda_s", value, "--epochs", "5")
        train(recipe, tmp_path / value, data_root=data)
    free, held = (weights(tmp_path / value)["head.output.weight"] for value in ("0", "1"))
    assert held.norm() < 0.3 * free.norm()


@pytest.mark.slow
def test_a_cnn_learns_over_fixed_vectors(data, tmp_path):
    """Thesis, 3.5.5: filters of one token over frozen vectors."""
    words = [*ANIMALS, *THINGS, "a", "or", "so", "not", "train", "dev", "test"]
    random = np.random.default_rng(0)
    lines = [f"{word} {' '.join(map(str, random.normal(size=16)))}" for word in words]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    filters = ["--filter_widths", "[1]", "--filter_counts", "[40]", "--activation", "relu"]
    recipe = small(
        tmp_path,
        *["--hidden_size", "40", "--embedding_size", "16", *filters, "--dense_activation", "none"],
        *["--vectors", str(tmp_path / "vectors.txt"), "--freeze", "tables", "--head.size", "0"],
        *["--head.dropout", "0.5", "--optimizer", "adagrad", "--learning_rate", "0.1"],
        *["--lambda_w", "0"],
        kind="sentiment",
        dataset=SST,
        model="char_cnn",
    )
    train(recipe, tmp_path / "out", data_root=data)
    assert record(tmp_path / "out")["test"]["accuracy"] >= 90
    table = weights(tmp_path / "out")["encoder.embedding.weight"]
    tokens = SentencePredictor.from_pretrained(tmp_path / "out").tokenizer.tokens()
    vector = np.array(lines[0].split()[1:], np.float32)
    np.testing.assert_allclose(table[tokens.index("cat")].numpy(), vector, rtol=1e-6)


def test_a_supervised_model_is_not_an_encoder(start, data, tmp_path):
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(run(tmp_path, data, "--epochs", "1"))
    with pytest.raises(ModelError):
        SentencePredictor.from_pretrained(start)


def test_the_command_line_trains_predicts_and_refuses_another_recipe(data, tmp_path, capsys):
    small(tmp_path, kind="entailment", dataset="sick_e")
    out, pairs = tmp_path / "out", tmp_path / "pairs.tsv"
    command = ["train", str(tmp_path / "recipe.yaml"), "--data", str(data), "--quiet"]
    command += ["--output", str(out), "--epochs", "1"]
    assert main(command) == 0
    assert f"{record(out)['test']['accuracy']:.2f}" in capsys.readouterr().out
    pairs.write_text("a cat\tthe cat\n\na dog\ta lamp\na\t \n\ta\n", encoding="utf-8")
    assert main(["predict", str(out), str(pairs)]) == 0
    shown, said = capsys.readouterr()
    found = SentencePredictor.from_pretrained(out).predict(
        ["a cat", "a dog"], ["the cat", "a lamp"]
    )
    labels = [line.partition("\t")[0] for line in shown.splitlines()]
    assert labels == [found[0], "nan", found[1], "nan", "nan"]
    assert "(2)" in said
    for line in ("a cat and nothing", "7\ta cat\tthe cat"):
        pairs.write_text(f"a\tb\n{line}\n", encoding="utf-8")
        assert main(["predict", str(out), str(pairs), "--bad-lines", "refuse"]) == 2
        assert "pairs.tsv:2" in capsys.readouterr().err
    assert main([*command, "--seed", "2"]) == 2
    assert "seed: 2" in capsys.readouterr().err
