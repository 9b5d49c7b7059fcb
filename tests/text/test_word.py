"""Tokenizers of words and of characters."""

import pytest
from hypothesis import example, given
from transformers import AutoTokenizer

from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import normalize, valid_unicode
from paraphrastic_hf.text.word import WordTokenizer, word_splitter
from tests.texts import BROKEN, SENTENCES, any_text, valid_text


def ids(tokenizer: WordTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


def split(text: str) -> list[str]:
    return [piece for piece, _ in word_splitter().pre_tokenize_str(text)]


SPLITS = {WordTokenizer: split, CharTokenizer: list}


@pytest.fixture(scope="module", params=[False, True], ids=["unknown dropped", "unknown kept"])
def saved(request, tmp_path_factory):
    """Our and the stock tokenizer of words, and of characters."""
    found = []
    for kind in SPLITS:
        folder = tmp_path_factory.mktemp("saved")
        ours = kind.train(SENTENCES, vocab_size=60, keep_unknown=request.param)
        ours.save(folder)
        found.append((ours, AutoTokenizer.from_pretrained(folder)))
    return found


@given(text=any_text)
@example("<pad> <unk> pad")
@example("a" * 5000)
@example(BROKEN[0])
def test_each_word_or_character_is_looked_up(saved, text):
    for ours, stock in saved:
        number = {entry: i for i, entry in enumerate(ours.tokens()) if i > 1}
        found = [number.get(unit, 1) for unit in SPLITS[type(ours)](normalize(text))]
        expected = [i for i in found if ours.keep_unknown or i != 1]
        assert ids(ours, text) == stock(valid_unicode(text))["input_ids"] == expected


def test_entries_are_ranked_by_frequency_then_code_point():
    found = WordTokenizer.train(["a b a", "c a b \ud800"], vocab_size=4).tokens()
    assert found == ["<pad>", "<unk>", "a", "b"]
    found = CharTokenizer.train(["ab ba", "cb"], vocab_size=9).tokens()
    assert found == ["<pad>", "<unk>", "b", "a", " ", "c"]
    assert CharTokenizer.train(["ab ba", "cb"], vocab_size=4).tokens()[2:] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't stop!", ["don", "'t", "stop", "!"]),
        ("the dogs' bowl", ["the", "dogs", "'", "bowl"]),
        ("'tis 3.5%", ["'", "tis", "3", ".", "5", "%"]),
        ("où as-tu", ["où", "as", "-", "tu"]),
        ("", []),
    ],
)
def test_splitting_by_hand(text, words):
    assert split(text) == words


@given(valid_text)
def test_splitting_loses_only_spaces(text):
    text = normalize(text)
    assert "".join(split(text)) == text.replace(" ", "")


def test_a_literal_special_token_is_punctuation_and_a_word():
    assert ids(WordTokenizer(["<", "pad", ">"]), "<pad>") == [2, 3, 4]


def test_tokenized_text_is_split_only_at_spaces(tmp_path):
    tokenizer = WordTokenizer(["does", "n't", "u.s.", "run"], keep_unknown=True, spaced=True)
    expected = {"Does  n't RUN": [2, 3, 5], "the U.S. run.": [1, 4, 1], "": []}
    tokenizer.save(tmp_path)
    stock, again = AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text, numbers in expected.items():
        assert ids(tokenizer, text) == ids(again, text) == stock(text)["input_ids"] == numbers
