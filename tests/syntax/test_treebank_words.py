import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.syntax.treebank_words import treebank_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("She drove home.", "She drove home ."),
        ("I can't, he's not; they'd've gone!", "I ca n't , he 's not ; they 'd 've gone !"),
        ("U.S. stocks fell 5% to $1,000.50.", "U.S. stocks fell 5 % to $ 1,000.50 ."),
        ("\"It's the dogs' bowl,\" she said.", "\" It 's the dogs ' bowl , \" she said ."),
        ("Wait... (what?) — no.", "Wait ... ( what ? ) — no ."),
        ("At 10:30, Mr. O'Neil cannot.", "At 10:30 , Mr. O'Neil can not ."),
        ("He said ‘go’ and “come”.", "He said ' go ' and \" come \" ."),
        ("a well-known rock-and-roll", "a well-known rock-and-roll"),
        (" \t ", ""),
    ],
)
def test_by_hand(text, words):
    assert treebank_words(text) == words.split()


def test_treebank_text_stays_unchanged():
    text = "do n't `` go '' , they said -- the U.S. 's 3.5 % ( or so ) ..."
    assert " ".join(treebank_words(text)) == text


@given(st.text("ab'\".,n t-(5", max_size=12))
def test_no_character_is_lost(text):
    assert "".join(treebank_words(text)) == "".join(text.split())
