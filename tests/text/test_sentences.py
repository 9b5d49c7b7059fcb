import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.sentences import Sentences, has_capital

CHARACTERS = CharTokenizer("abcde", lowercase=True)
TEXTS = [["a", "Bad", "a"], [], ["cab", "a", "bad", "xyz"]]


def test_a_batch_by_hand():
    batch = Sentences.of(TEXTS, CHARACTERS).batch([2, 0])
    assert batch["word_index"].tolist() == [[2, 0, 3, 4], [0, 1, 0, -1]]
    assert batch["input_ids"].tolist() == [[2, 0, 0], [3, 2, 5], [4, 2, 3], [3, 2, 5], [0, 0, 0]]
    assert batch["attention_mask"].sum(1).tolist() == [1, 3, 3, 3, 0]
    assert batch["capitals"].tolist() == [0, 1, 0, 0, 0]
    cut = Sentences.of(TEXTS, CHARACTERS).batch([0], max_tokens=2)
    assert cut["input_ids"].tolist() == [[2, 0], [3, 2]]


def test_word_index_finds_the_tokens_of_every_word():
    corpus = Sentences.of(TEXTS, CHARACTERS)
    batch = corpus.batch(range(3))
    for row, sentence in enumerate(TEXTS):
        for place, word in enumerate(sentence):
            at = batch["word_index"][row, place]
            kept = batch["input_ids"][at][batch["attention_mask"][at] == 1]
            assert kept.tolist() == CHARACTERS.encode_batch([word])[0].tolist()


def test_a_string_is_not_a_list_of_words():
    assert Sentences.of([[]], CHARACTERS).batch([0])["word_index"].shape == (1, 0)
    nothing = Sentences.of([], CHARACTERS)
    assert (len(nothing), nothing.batch([])["input_ids"].shape) == (0, (0, 0))
    with pytest.raises(DataError):
        Sentences.of(["the cat"], CHARACTERS)


def test_capitals_are_upper_case_letters_anywhere():
    assert [word for word in ("Cat", "iPod", "cat", "9%", "É", "") if has_capital(word)] == [
        *("Cat", "iPod", "É")
    ]
