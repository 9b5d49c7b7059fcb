"""Shares of tokens in the cosine of two texts."""

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, token_contributions
from paraphrastic_hf.encoders.contributions import left_out
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import recurrent, with_rows

PAIRS = [
    ("The physician examined the child's X-ray!", "The doctor looked at the picture."),
    ("a cat", "a cat"),
    ("Ünïcode — ☃ \ud800 and a cat", "日本語です the cat"),
    ("cat " * 40, "The price of bread went up."),
    ("A cat sleeps on the sofa.", "The price of bread went up."),
]


@pytest.fixture
def animals():
    """Two orthogonal words of lengths 3 and 4."""
    rows = np.array([[0, 0], [0, 0], [3, 0], [0, 4]])
    return SentenceEncoder.from_table(rows, WordTokenizer(["cat", "dog"]), "animals")


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_shares_sum_to_the_cosine(english, char_ngram, first, second):
    for encoder in (english, with_rows(char_ngram)):
        found = token_contributions(encoder, first, second)
        expected = float(encoder.similarity(first, second)[0, 0])
        assert found.cosine == pytest.approx(expected, abs=1e-5)  # encode sums in float32
        for own in (found.of_first(), found.of_second()):
            assert own.sum() == pytest.approx(found.cosine, abs=1e-12)


def test_shares_by_hand(animals):
    """mean(cat, dog) = (1.5, 2) of length 2.5, and dog is (0, 4): 0.5 * 16 / (2.5 * 4) = 0.8."""
    found = token_contributions(animals, "cat dog", "dog")
    assert found.first == ("cat", "dog")
    assert found.second == ("dog",)
    np.testing.assert_allclose(found.pairs, [[0], [0.8]])
    np.testing.assert_allclose(found.of_first(), [0, 0.8])
    assert found.cosine == pytest.approx(0.8)


@pytest.mark.parametrize("texts", [("", "dog"), ("wombat", "dog"), ("", "")])
def test_a_text_without_known_tokens_has_no_shares(animals, texts):
    found = token_contributions(animals, *texts)
    assert found.first == ()
    assert found.cosine == 0
    assert found.pairs.shape == (0, len(found.second))


def test_tokens_that_cancel_give_zeros():
    rows = np.array([[0.0], [0.0], [1.0], [-1.0]])
    encoder = SentenceEncoder.from_table(rows, WordTokenizer(["up", "down"]))
    assert token_contributions(encoder, "up down", "up").pairs.tolist() == [[0.0], [0.0]]


def test_other_encoders_and_other_types_are_refused(word, animals):
    with pytest.raises(ModelError):
        token_contributions(recurrent(word), "a", "b")
    with pytest.raises(TypeError):
        token_contributions(animals, ["cat"], "dog")


def test_left_out_compares_with_and_without_the_word(english, word, animals):
    first, second = "A cat sleeps.", "The cat is asleep."
    for encoder in (english, recurrent(word)):
        whole = float(encoder.similarity(first, second)[0, 0])
        without = float(encoder.similarity("A sleeps.", second)[0, 0])
        of_first, of_second = left_out(encoder, first, second)
        assert (of_first.shape, of_second.shape) == ((3,), (4,))
        assert of_first[1] == pytest.approx(whole - without, abs=1e-5)
    of_first, of_second = left_out(animals, "dog", "dog")  # without it, no word is left
    np.testing.assert_allclose([*of_first, *of_second], [1, 1])
    assert [len(side) for side in left_out(animals, "", "")] == [0, 0]
