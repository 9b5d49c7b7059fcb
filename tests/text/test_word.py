import pytest
from hypothesis import example, given
from transformers import AutoTokenizer

from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer, word_splitter
from tests.texts import SENTENCES, any_text, valid_text


def ids(tokenizer: WordTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


def split(text: str) -> list[str]:
    return [piece for piece, _ in word_splitter().pre_tokenize_str(text)]


@pytest.fixture(scope="module", params=[False, True], ids=["unknown dropped", "unknown kept"])
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("word")
    tokenizer = WordTokenizer.train(SENTENCES, vocab_size=100, keep_unknown=request.param)
    tokenizer.save(folder)
    return tokenizer, AutoTokenizer.from_pretrained(folder)


def test_words_are_ranked_by_frequency():
    found = WordTokenizer.train(["a b a", "c a b \ud800"], vocab_size=4).tokens()
    assert found == ["<pad>", "<unk>", "a", "b"]


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


@given(text=valid_text)
@example(text="<pad> <unk> pad")
def test_ids_are_those_of_auto_tokenizer(both, text):
    ours, auto = both
    assert ids(ours, text) == auto(text)["input_ids"]


@given(text=any_text)
@example(text="<pad> <unk> pad")
def test_each_word_is_looked_up(both, text):
    ours, _ = both
    number = {entry: i for i, entry in enumerate(ours.tokens()) if i > 1}
    found = [number.get(word, 1) for word in split(normalize(text))]
    assert ids(ours, text) == [i for i in found if ours.keep_unknown or i != 1]


def test_a_literal_special_token_is_punctuation_and_a_word():
    assert ids(WordTokenizer(["<", "pad", ">"]), "<pad>") == [2, 3, 4]


def test_tokenized_text_is_split_only_at_spaces(tmp_path):
    tokenizer = WordTokenizer(["does", "n't", "u.s.", "run"], keep_unknown=True, spaced=True)
    expected = {"Does  n't RUN": [2, 3, 5], "the U.S. run.": [1, 4, 1], "": []}
    tokenizer.save(tmp_path)
    stock, again = AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text, numbers in expected.items():
        assert ids(tokenizer, text) == ids(again, text) == stock(text)["input_ids"] == numbers
