"""Tagging runs on a synthetic treebank in the official format."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from transformers import AutoModelForTokenClassification

from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.predictors.tagger import Tagger
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.training.supervised.objective import SupervisedObjective
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe
from paraphrastic_hf.training.supervised.tagging import Tagging, read_splits
from tests.training import runs
from tests.training.runs import record, train

CHARACTERS = "tokenizer: {kind: char, vocab_size: 60, marks: both, lowercase: false}"
NGRAMS = "tokenizer: {kind: char_ngram, orders: [2, 3], vocab_size: 300, lowercase: false}"
FILTERS = "{kind: char_cnn, embedding_size: 8, filter_widths: [2, 3], filter_counts: [8, 8]"
ENCODERS = {
    "charagram": (NGRAMS, "{kind: charagram, activation: relu, initializer_std: 0.1"),
    "char_cnn": (CHARACTERS, FILTERS + ", activation: relu, initializer_std: 0.5"),
    "char_lstm": (CHARACTERS, "{kind: recurrent, pooling: last, embedding_size: 8"),
}
REST = """
training: {batch_size: 8, epochs: 8, optimizer: adam, learning_rate: 2e-2}
head: {size: 12}
run: {checkpoint_every: 10}
"""


def leaves(random: np.random.Generator) -> list[tuple[str, str]]:
    """Return `the`, a noun, a verb that agrees and a number. `saw` is a noun after `the`, else a
    verb."""
    stem = "".join(random.choice(list("bdglmn"), 3))
    noun = random.choice([("NNS", stem + "s"), ("NN", stem), ("NN", "saw"), ("NNP", stem.title())])
    verb = random.choice([("VBD", "saw"), ("VBD", stem + "ed"), ("VBG", stem + "ing")])
    return [("DT", "the"), tuple(noun), tuple(verb), ("CD", str(random.integers(99)))]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write 10 documents of 16 sentences as a treebank, and 160 sentences as UD English EWT."""
    root, random = tmp_path_factory.mktemp("root"), np.random.default_rng(0)
    (root / "treebank" / "combined").mkdir(parents=True)
    (root / "ud_english_ewt").mkdir()
    for document in range(10):
        texts = [
            "((S " + " ".join(f"({tag} {word})" for tag, word in leaves(random)) + "))\n"
            for _ in range(16)
        ]
        path = root / "treebank" / "combined" / f"wsj_{document:04}.mrg"
        path.write_text("\n".join(texts), encoding="utf-8")
    for split in ("dev", "test"):
        texts = [
            "\n".join(
                "\t".join([str(n + 1), word, "_", tag[0], tag, *"_" * 5])
                for n, (tag, word) in enumerate(leaves(random))
            )
            for _ in range(80)
        ]
        path = root / "ud_english_ewt" / f"en_ewt-ud-{split}.conllu"
        path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return root


def recipe_of(
    folder: Path, *overrides: str, name: str = "charagram", task: str = "dataset: treebank"
) -> SupervisedRecipe:
    tokenizer, model = ENCODERS[name]
    model = f"model: {model}, hidden_size: 16, embedding_dropout: 0.0}}"
    text = f"task: {{kind: tagging, {task}}}\n{tokenizer}\n{model}\n{REST}"
    return runs.recipe_of(folder, text, *overrides)


@pytest.mark.parametrize(
    "name",
    ["charagram", *(pytest.param(n, marks=pytest.mark.slow) for n in ("char_cnn", "char_lstm"))],
)
def test_a_tagger_learns_from_word_forms_and_context(name, data, tmp_path):
    result = train(recipe_of(tmp_path, name=name), tmp_path / "out", data_root=data)
    found = record(tmp_path / "out")
    assert found["examples"] == {"train": 128, "validation": 16, "test": 16}
    assert result.best_score == found["validation"]["accuracy"]
    assert found["test"]["accuracy"] > 95
    assert found["test"]["unknown_words"] > 5
    assert found["test"]["unknown_accuracy"] > 85
    tagger = Tagger.from_pretrained(tmp_path / "out")
    assert tagger.tag([["the", "saw", "saw", "7"], []]) == [["DT", "NN", "VBD", "CD"], []]
    loaded = AutoModelForTokenClassification.from_pretrained(tmp_path / "out")
    assert loaded.config.id2label == tagger.model.config.id2label


def test_missing_splits_are_cut_in_order(data, tmp_path):
    splits = read_splits(recipe_of(tmp_path, "--held_out", "0.2"), data)
    documents = {name: sorted({s.document for s in part}) for name, part in splits.items()}
    assert documents["train"] == [f"wsj_{n:04}" for n in range(6)]
    assert documents["validation"] == ["wsj_0006", "wsj_0007"]
    assert documents["test"] == ["wsj_0008", "wsj_0009"]
    for task, tag in (("dataset: ewt, tags: penn_tags", "VBD"), ("dataset: ewt", "V")):
        splits = read_splits(recipe_of(tmp_path, task=task), data)
        assert {k: len(part) for k, part in splits.items()} == {
            **{"train": 72, "validation": 8, "test": 80}
        }
        assert tag in {tag for s in splits["train"] for tag in s.tags}


def test_processes_are_weighted_by_their_words(data, tmp_path):
    recipe = recipe_of(tmp_path)
    problem = Tagging(recipe, data)
    lines = list(problem.lines(["train"]))
    tokenizer = CharNgramTokenizer.train(lines, vocab_size=200, orders=[2], lowercase=False)
    examples = problem.examples("train", tokenizer)
    rows = np.arange(8)
    words = [len(sentence.words) for sentence in problem.splits["train"][:8]]
    assert examples.labels_in(rows) == sum(words)
    config = CharagramConfig(vocab_size=tokenizer.vocab_size, hidden_size=10)
    model = problem.new_model(config.to_dict())
    weights = []
    for rank in range(2):
        world = SimpleNamespace(process_index=rank, num_processes=2)
        task = SupervisedObjective(recipe, examples, tokenizer, model, world)
        (step,) = task.batches(0, 0, 0)
        (batch,) = step.batches
        own, everything = (examples.labels_in(part) for part in (batch.own, batch.whole))
        weights.append(batch.weight)
        assert batch.weight == pytest.approx(2 * own / everything)
    assert sum(weights) == pytest.approx(2)


@pytest.mark.slow
def test_tags_absent_from_training_count_as_wrong(data, tmp_path):
    folder = tmp_path / "root" / "treebank" / "combined"
    folder.mkdir(parents=True)
    for path in (data / "treebank" / "combined").iterdir():
        text = path.read_text(encoding="utf-8")
        last = path.stem == "wsj_0009"
        (folder / path.name).write_text(text.replace("(CD", "(XX" if last else "(CD"), "utf-8")
    recipe = recipe_of(tmp_path, "--epochs", "8")
    train(recipe, tmp_path / "out", data_root=tmp_path / "root")
    found = record(tmp_path / "out")
    assert found["validation"]["accuracy"] > 90
    assert 60 < found["test"]["accuracy"] <= 75


@pytest.mark.slow
def test_the_nltk_treebank_is_cut_by_documents(tmp_path, monkeypatch):
    """Every tag of the validation and test parts occurs in training."""
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set: no official files of the corpora here")
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "unpacked"))
    splits = read_splits(recipe_of(tmp_path), root)
    assert {name: (len(part), part[-1].document) for name, part in splits.items()} == {
        "train": (3167, "wsj_0142"),
        "validation": (358, "wsj_0172"),
        "test": (389, "wsj_0199"),
    }
    tags = {name: {tag for s in part for tag in s.tags} for name, part in splits.items()}
    assert len(tags["train"]) == 45
    assert tags["validation"] | tags["test"] <= tags["train"]
