import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.text.overlap import lemmatize, ngram_overlap, word_ngrams

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


def slow_ngrams(text: str, n: int) -> list[list[str]]:
    tokens = slow_tokens(text)
    return [tokens[start : start + n] for start in range(len(tokens) - n + 1)]


def slow_overlap(first: str, second: str, n: int) -> float:
    few, many = slow_ngrams(first, n), slow_ngrams(second, n)
    if len(many) < len(few):
        few, many = many, few
    shared = 0
    for one in few:
        if one in many:  # each counts once
            many.remove(one)
            shared += 1
    return shared / len(few) if few else 0.0


@given(TEXTS | st.text(), TEXTS | st.text(), st.integers(1, 3))
@example("a a a a", "a a a b b", 3)  # `a a a` occurs twice, and once: 1/2
def test_overlap_equals_the_slow_loop(first, second, n):
    assert [list(ngram) for ngram in word_ngrams(first, n)] == slow_ngrams(first, n)
    found = ngram_overlap(first, second, n)
    assert found == slow_overlap(first, second, n) == ngram_overlap(second, first, n)
    assert 0 <= found <= 1


def test_words_are_lemmatized():
    pytest.importorskip("simplemma", reason="pip install 'paraphrastic-hf[lemmas]'")
    found = lemmatize(["cats", "went", "two dogs", "", "qwrtz"])
    assert found == ["cat", "go", "two dog", "", "qwrtz"]


def test_without_simplemma_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.extras._is_there", lambda name: name != "simplemma")
    with pytest.raises(MissingExtraError, match=r"\[lemmas\]"):
        lemmatize(["cats"])
