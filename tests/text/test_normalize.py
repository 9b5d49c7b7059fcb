import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paraphrastic_hf.text.normalize import build_normalizer, keep_apart, normalize, valid_unicode
from tests.texts import BROKEN, HOSTILE, any_text, ascii_text, valid_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  The\u00a0\ufb01rst\tLINE ", "the first line"),
        ("don\u2019t say \u201cno\u201d", 'don\'t say "no"'),
        ("co\u00adoperate", "cooperate"),
        ("one\0two\u200bthree\ufefffour", "one two three four"),
        ("\u2581the\u2581end", "the end"),
        ("E\u0301tude", "\u00e9tude"),
        ("\uff21\u00bd", "a1\u20442"),
    ],
)
def test_by_hand(text, expected):
    assert normalize(text) == expected


@given(ascii_text, st.booleans())
def test_the_ascii_shortcut_equals_the_saved_normalizer(text, lowercase):
    assert normalize(text, lowercase) == build_normalizer(lowercase).normalize_str(text)


@given(valid_text, st.booleans())
def test_a_loaded_normalizer_gives_equal_results(text, lowercase):
    loaded = pickle.loads(pickle.dumps(build_normalizer(lowercase)))
    assert loaded.normalize_str(text) == normalize(text, lowercase)


@given(any_text | st.sampled_from([*HOSTILE, *BROKEN]), st.booleans())
@example("J\u030c", True)  # only the lower-case letter has a composed form
@example("H\u0331", True)
@example("e\u00ad\u0301", True)  # a soft hyphen prevents composing
def test_normalizing_twice_is_normalizing_once(text, lowercase):
    once = normalize(text, lowercase)
    assert normalize(once, lowercase) == once


@given(any_text)
def test_normalized_text_has_single_spaces_and_no_controls(text):
    result = normalize(text)
    assert result == " ".join(result.split())
    assert not set(result) & set("\0\u2581\u00ad\u200b\ufeff\ufffd\u2019")


@pytest.mark.parametrize("text", BROKEN[:3])
def test_lone_surrogates_become_encodable(text):
    assert valid_unicode(text).encode("utf-8").decode("utf-8").count("\ufffd") >= 1
    assert normalize(text) == normalize(valid_unicode(text))


@given(valid_text)
def test_valid_text_is_unchanged(text):
    assert valid_unicode(text) == text


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_keep_apart_is_invertible_and_shares_only_white_space(text):
    apart = keep_apart(text)
    assert all(c.isspace() for c in set(text) & set(apart))
    assert "".join(c if c.isspace() else chr(ord(c) - 0xF0000) for c in apart) == text


@given(valid_text)
def test_normalizing_keeps_mapped_text(text):
    apart = keep_apart(normalize(text))
    assert normalize(apart) == apart
