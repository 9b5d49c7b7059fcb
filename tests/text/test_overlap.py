"""Texts share n-grams of words as the thesis says, and as a slow loop finds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.text.overlap import ngram_overlap, word_ngrams

# Few words, so that sides share trigrams; marks stand alone, and letters beyond ASCII are letters.
WORDS = st.sampled_from(["a", "b", "A", "été", "it's", "7", ",", "。", "猫_1"])
TEXTS = st.lists(WORDS, max_size=9).map(" ".join)


def slow_tokens(text: str) -> list[str]:
    """Character by character: runs of letters, digits and `_`, and single marks."""
    tokens: list[str] = []
    is_open = False
    for character in text.lower():
        is_word = character.isalnum() or character == "_"
        if is_word and is_open:
            tokens[-1] += character
        elif not character.isspace():
            tokens.append(character)
        is_open = is_word
    return tokens


def slow_trigrams(text: str) -> list[list[str]]:
    tokens = slow_tokens(text)
    return [tokens[start : start + 3] for start in range(len(tokens) - 2)]


def slow_overlap(first: str, second: str) -> float:
    few, many = slow_trigrams(first), slow_trigrams(second)
    if len(many) < len(few):
        few, many = many, few
    shared = 0
    for one in few:
        if one in many:  # each of the other side's counts once
            many.remove(one)
            shared += 1
    return shared / len(few) if few else 0.0


@given(TEXTS | st.text(), TEXTS | st.text())
def test_overlap_is_that_of_the_slow_loop(first: str, second: str) -> None:
    assert ngram_overlap(first, second, 3) == slow_overlap(first, second)


@given(TEXTS | st.text())
def test_trigrams_are_those_of_the_slow_loop(text: str) -> None:
    assert [list(trigram) for trigram in word_ngrams(text, 3)] == slow_trigrams(text)


def test_a_trigram_that_one_side_repeats_is_shared_as_often_as_both_have_it() -> None:
    """`a a a` twice of two, and once of three others."""
    assert ngram_overlap("a a a a", "a a a b b", 3) == 0.5


@given(TEXTS, TEXTS)
def test_overlap_is_the_same_either_way_round(first: str, second: str) -> None:
    assert ngram_overlap(first, second, 3) == ngram_overlap(second, first, 3)


@given(st.text(), st.text())
def test_overlap_lies_between_0_and_1(first: str, second: str) -> None:
    assert 0 <= ngram_overlap(first, second, 3) <= 1


@pytest.mark.parametrize("short", ["", " ", "one", "one two", "one,"])
def test_a_side_of_fewer_than_three_tokens_shares_nothing(short: str) -> None:
    assert ngram_overlap(short, "one two three", 3) == 0
    assert ngram_overlap("one two three", short, 3) == 0
    assert ngram_overlap(short, short, 3) == 0


def test_a_contained_side_is_shared_whole() -> None:
    assert ngram_overlap("the cat sat", "yesterday the cat sat down", 3) == 1
    assert ngram_overlap("The CAT sat!", "the cat  sat !", 3) == 1


def test_a_changed_word_costs_every_trigram_that_holds_it() -> None:
    """Of `a b c d e`, only `a b c` is without the last two words."""
    assert ngram_overlap("a b c d e", "a b c x e", 3) == pytest.approx(1 / 3)


def test_words_are_shared_in_any_order() -> None:
    assert ngram_overlap("She drove home.", "home she drove", 1) == 1
    assert ngram_overlap("a b c", "c d", 1) == 0.5
