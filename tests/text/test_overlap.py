"""N-gram overlap, compared with a slow loop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.text.overlap import ngram_overlap, word_ngrams

# Few words, so that the texts share trigrams.
WORDS = st.sampled_from(["a", "b", "A", "été", "it's", "7", ",", "。", "猫_1"])
TEXTS = st.lists(WORDS, max_size=9).map(" ".join)


def slow_tokens(text: str) -> list[str]:
    """Runs of letters, digits and `_`, and single marks."""
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
        if one in many:  # each counts once
            many.remove(one)
            shared += 1
    return shared / len(few) if few else 0.0


@given(TEXTS | st.text(), TEXTS | st.text())
def test_overlap_equals_the_slow_loop(first: str, second: str) -> None:
    assert [list(trigram) for trigram in word_ngrams(first, 3)] == slow_trigrams(first)
    found = ngram_overlap(first, second, 3)
    assert found == slow_overlap(first, second) == ngram_overlap(second, first, 3)
    assert 0 <= found <= 1


@pytest.mark.parametrize(
    ("first", "second", "n", "expected"),
    [
        *((short, "one two three", 3, 0) for short in ("", " ", "one", "one two", "one,")),
        ("a a a a", "a a a b b", 3, 1 / 2),  # `a a a` occurs twice, and once
        ("The CAT sat!", "yesterday the cat  sat !", 3, 1),
        ("a b c d e", "a b c x e", 3, 1 / 3),
        ("She drove home.", "home she drove", 1, 1),
        ("a b c", "c d", 1, 1 / 2),
    ],
)
def test_by_hand(first: str, second: str, n: int, expected: float) -> None:
    assert ngram_overlap(first, second, n) == pytest.approx(expected)
