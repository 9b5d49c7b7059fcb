"""A parsing run on a synthetic treebank in the format of GUM."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from paraphrastic_hf.predictors.parser import SentenceParser
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.supervised.parsing import Parsing
from tests.training.runs import card, recipe_of, record, train

DOCUMENTS = {
    "GUM_academic_art": 120,
    "GUM_bio_byron": 20,  # validation split
    "GUM_bio_dvorak": 20,  # test split
}
RECIPE = """
task: {kind: parsing, dataset: gum}
tokenizer: {kind: char_ngram, orders: [2, 3], vocab_size: 300}
model: {kind: charagram, activation: relu, hidden_size: 24, initializer_std: 0.1,
  embedding_dropout: 0.0}
head: {size: 16, span_size: 16, layers: 1}
training: {batch_size: 8, epochs: 6, learning_rate: 2e-2}
run: {checkpoint_every: 1000}
"""


def sentence(random: np.random.Generator) -> str:
    """Return a tree whose object may contain a prepositional phrase."""

    def noun() -> str:
        return f"(NP-SBJ (DT the) (NN {''.join(random.choice(list('bdglmn'), 3))}))"

    inner = noun()
    if random.random() < 0.5:
        inner = f"(NP {noun()} (PP (IN of) {noun()}))"
    return f"(ROOT (S {noun()} (VP (VBD saw) {inner}) (. .)))"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root, random = tmp_path_factory.mktemp("root"), np.random.default_rng(0)
    (root / "gum" / "const").mkdir(parents=True)
    (root / "treebank" / "combined").mkdir(parents=True)
    for document, count in DOCUMENTS.items():
        text = "\n".join(sentence(random) for _ in range(count))
        (root / "gum" / "const" / f"{document}.ptb").write_text(text + "\n", encoding="utf-8")
    withheld = "(ROOT (NP (NN ___) (NN _)))\n"
    (root / "gum" / "const" / "GUM_reddit_card.ptb").write_text(withheld, encoding="utf-8")
    (root / "treebank" / "combined" / "wsj_0001.mrg").write_text(
        "( (INTJ (UH Oh) (`` ``) (-NONE- *) ))\n( (INTJ (UH Oh) (`` ``)))\n", encoding="utf-8"
    )
    return root


@pytest.mark.slow
def test_a_parser_learns_a_grammar(data, tmp_path):
    result = train(recipe_of(tmp_path, RECIPE), tmp_path / "out", data_root=data)
    found = record(tmp_path / "out")
    assert found["examples"] == {"train": 120, "validation": 20, "test": 20}
    assert result.best_score == found["validation"]["f1"]
    assert found["test"]["f1"] > 95
    assert found["test"]["template_match"] > 95
    (parsed,) = SentenceParser.from_pretrained(tmp_path / "out").parse(["the bag saw the dog."])
    assert str(parsed.tree) == (
        "(ROOT (S (NP (DT the) (NN bag)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))"
    )
    assert "SentenceParser.from_pretrained(model).parse" in card(tmp_path / "out")


def test_parts_are_concatenated_with_the_start(data, tmp_path):
    first, _, rest = RECIPE.partition("tokenizer:")
    rest = rest.partition("head:")[2]
    text = f"""{first}start: english
parts:
  - tokenizer: {{kind: char_ngram, orders: [2], vocab_size: 50}}
    model: {{kind: charagram, activation: relu, hidden_size: 8, embedding_dropout: 0.0}}
head: {rest}"""
    recipe = recipe_of(tmp_path, text, "--training.steps", "2")
    train(recipe, tmp_path / "out", data_root=data)
    parser = SentenceParser.from_pretrained(tmp_path / "out")
    assert parser.model.config.vector_size == 512 + 8
    assert parser.parse(["the bag"])[0].tree.words() == ["the", "bag"]


def test_extra_corpora_are_added_to_training(data, tmp_path):
    problem = Parsing(recipe_of(tmp_path, RECIPE, "--task.extra_corpora", "treebank"), data)
    assert {split: len(trees) for split, trees in problem.trees.items()} == {
        **{"train": 122, "validation": 20, "test": 20}
    }
    assert str(problem.trees["train"][-1]) == '(ROOT (INTJ (UH Oh) (`` ")))'
    assert problem.labels == ["INTJ", "NP", "PP", "S", "VP"]


def test_open_texts_alone_are_used_for_training(data, tmp_path):
    root = tmp_path / "root"
    shutil.copytree(data, root)
    (root / "gum" / "const" / "GUM_fiction_sea.ptb").write_text("(ROOT (NP (NN sea)))\n")
    for name, count in (("default", 121), ("open", 120)):
        recipe = recipe_of(tmp_path, RECIPE, "--task.dataset.config", name)
        assert len(Parsing(recipe, root).trees["train"]) == count


def test_batches_have_sentences_of_similar_length(data, tmp_path):
    problem = Parsing(recipe_of(tmp_path, RECIPE), data)
    one_token = SimpleNamespace(encode_batch=lambda words: Ragged.from_lists([[2]] * len(words)))
    examples = problem.examples("train", one_token)  # type: ignore[arg-type]
    order = examples.arranged(np.arange(len(examples)), 10, np.random.default_rng(0))
    assert sorted(order) == list(range(120))
    lengths = examples.tags.lengths(order).reshape(-1, 10)
    assert (np.ptp(lengths, axis=1) == 0).sum() >= 11
    assert len(set(lengths[:, 0])) == 2
    assert (np.diff(lengths[:, 0]) < 0).any()  # batches are in random order
