"""Merging of averaging models."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf import AveragingConfig, MixedConfig, MixedModel, SentenceEncoder
from paraphrastic_hf.encoders.merged import check_alike, merged_table
from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.finish import whitened
from paraphrastic_hf.training.encoder.recipe import FinishArguments
from paraphrastic_hf.training.encoder.settings import TokenizerArguments
from paraphrastic_hf.training.engine.run import train
from tests.training.encoder.test_finish import PAIRS, recipe

WORDS = [f"w{number}" for number in range(300)]


def rotation(random: np.random.Generator, size: int) -> np.ndarray:
    return np.linalg.qr(random.normal(size=(size, size)))[0]


def runs(count: int, noise: float, size: int = 12) -> tuple[np.ndarray, list[np.ndarray]]:
    """A common table, and noisy, rotated and scaled copies."""
    random = np.random.default_rng(3)
    common = random.normal(size=(len(WORDS) + 2, size)) * np.geomspace(3, 0.3, size)
    common[0] = 0
    tables = []
    for number in range(count):
        noisy = common + noise * random.normal(size=common.shape)
        noisy[0] = 0
        turn = rotation(random, size) if number else np.eye(size)
        tables.append((noisy @ turn * (1 + number)).astype(np.float32))
    return common, tables


def distance(table: np.ndarray, common: np.ndarray) -> float:
    """Distance between the row products of two tables, which rotation does not change."""
    found, wanted = (each / np.linalg.norm(each) for each in (table, common))
    return float(np.linalg.norm(found @ found.T - wanted @ wanted.T))


def test_rotated_and_scaled_copies_merge_to_the_first():
    _, tables = runs(4, noise=0)
    np.testing.assert_allclose(merged_table(tables), tables[0], rtol=1e-4, atol=1e-5)


def test_merging_reduces_noise():
    common, tables = runs(4, noise=0.5)
    single = min(distance(table, common) for table in tables)
    two, four = (distance(merged_table(tables[:count]), common) for count in (2, 4))
    assert four < two < single
    assert four < 0.7 * single


def test_a_merged_row_has_the_mean_length():
    _, tables = runs(3, noise=0.5)
    found = merged_table(tables)
    assert not found[0].any()
    lengths = np.array([np.linalg.norm(table, axis=1) for table in tables])
    sizes = np.sqrt((lengths**2).mean(1, keepdims=True))
    expected = (lengths * sizes[0] / sizes).mean(0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), expected, rtol=1e-4)


def test_other_vocabularies_and_dimensions_are_not_merged():
    _, (table, _) = runs(2, noise=0)
    tokenizer = WordTokenizer(WORDS)
    words = SentenceEncoder.from_table(table, WordTokenizer([*WORDS[1:], "else"]), "words")
    narrow = SentenceEncoder.from_table(table[:, :5], tokenizer, "narrow")
    for encoder in (words, narrow):
        with pytest.raises(ModelError):
            check_alike(encoder, tokenizer, 12, "one")


def test_merging_precedes_whitening(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(recipe(PAIRS), "one")
    tokenizer = TokenizerArguments(from_model="one")
    second = dataclasses.replace(recipe(PAIRS), tokenizer=tokenizer, seed=2)
    train(second, "two")
    finish = FinishArguments(merge_with=["one"], whiten=0.25, nested_dimensions=True)
    train(dataclasses.replace(second, finish=finish), "both")
    one, two, both = map(SentenceEncoder.from_pretrained, ("one", "two", "both"))
    assert one.tokenizer.tokens() == both.tokenizer.tokens()
    mean = SentenceEncoder.from_table(merged_table([two.table(), one.table()]), two.tokenizer)
    texts = [line.split("\t")[0] for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    vectors = torch.from_numpy(mean.encode(texts))
    expected = whitened(torch.from_numpy(mean.table()), vectors, 0.25).numpy()
    found = both.table()
    assert not np.allclose(np.linalg.norm(found, axis=1), np.linalg.norm(two.table(), axis=1))
    rows = np.linalg.norm(expected, axis=1) > 0
    products = [(table @ table.T)[rows].ravel() for table in (expected, found)]
    assert np.corrcoef(*products)[0, 1] > 0.98  # here the axes are of first sides only
    card = Path("both/README.md").read_text(encoding="utf-8")
    assert "averaged with one" in " ".join(card.split())


def test_a_tokenizer_is_found_in_the_data_root(tmp_path):
    _, (table, _) = runs(2, noise=0)
    SentenceEncoder.from_table(table, WordTokenizer(WORDS)).save_pretrained(tmp_path / "words")
    arguments = TokenizerArguments(from_model="words", kind="word")
    assert train_tokenizer(arguments, [], 1, tmp_path).vocab_size == len(WORDS) + 2


def test_merging_is_checked_before_training(tmp_path):
    tokenizer = TokenizerArguments(from_model="tiny")
    known = dataclasses.replace(recipe(PAIRS, merge_with=["english"]), tokenizer=tokenizer)
    with pytest.raises(ModelError):
        train(known, tmp_path / "at-once")
    assert not (tmp_path / "at-once" / "work" / "corpus").exists()
    with pytest.raises(RecipeError):
        recipe(PAIRS, merge_with=["tiny", "tiny"])
    for name in ("tiny", "nowhere"):
        with pytest.raises(ModelError):
            train(recipe(PAIRS, merge_with=[name]), tmp_path / name)


@pytest.mark.parametrize("marks", ["none", "end"])
def test_a_tokenizer_is_taken_from_another_model(marks, tmp_path):
    arguments = TokenizerArguments(from_model="tiny", marks=marks)
    tokenizer = train_tokenizer(arguments, [], seed=1)
    own = SentenceEncoder.from_pretrained("tiny").tokenizer
    assert tokenizer.tokens()[: own.vocab_size] == own.tokens()
    assert tokenizer.vocab_size == own.vocab_size + (marks == "end")


def test_a_tokenizer_with_other_marks_or_of_a_mixture_is_refused(tmp_path):
    marked, mixed = MarkedTokenizer(WordTokenizer(WORDS), "end"), str(tmp_path / "mixed")
    rows = np.ones((marked.vocab_size, 2), np.float32)
    SentenceEncoder.from_table(rows, marked).save_pretrained(tmp_path)
    part = AveragingConfig(vocab_size=len(WORDS) + 2, hidden_size=2).to_dict()
    both = MixedTokenizer([WordTokenizer(WORDS), WordTokenizer(WORDS)])
    SentenceEncoder(MixedModel(MixedConfig(parts=[part] * 2)), both).save_pretrained(mixed)
    for settings, key in (
        ({"from_model": str(tmp_path), "kind": "word"}, "marks"),
        ({"from_model": str(tmp_path)}, "kind"),
        ({"from_model": "tiny", "lowercase": False}, "lowercase"),
        ({"from_model": mixed}, mixed),
    ):
        with pytest.raises(RecipeError, match=key):
            train_tokenizer(TokenizerArguments(**settings), [], seed=1)
    for settings in ({"from_model": " "}, {"from_model": "tiny", "apart": ["fr"]}):
        with pytest.raises(RecipeError):
            TokenizerArguments(**settings)
