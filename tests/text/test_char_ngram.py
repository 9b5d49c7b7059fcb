import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.char_ngram import PADDINGS, CharNgramTokenizer, extract_ngrams
from paraphrastic_hf.text.normalize import normalize
from tests import oracles
from tests.texts import SENTENCES, any_text

HARD_CASES = ["", "<pad> <unk>", "a", "\0\ud800"]


def ids(tokenizer: CharNgramTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


@pytest.fixture(scope="module", params=[False, True], ids=["unknown dropped", "unknown kept"])
def either(request):
    return CharNgramTokenizer.train(
        SENTENCES, vocab_size=300, orders=(2, 3), keep_unknown=request.param
    )


@given(
    any_text, st.lists(st.integers(1, 6), min_size=1, max_size=3), st.sampled_from(sorted(PADDINGS))
)
def test_every_ngram_of_the_padded_text_counts(text, orders, padding_mode):
    text = normalize(text)
    left, right = {"both": (" ", " "), "left": (" ", ""), "none": ("", "")}[padding_mode]
    expected = oracles.ngrams(left + text + right, orders) if text else []
    assert extract_ngrams(text, orders, padding_mode) == expected


@given(text=any_text)
@example(text="<pad> <unk>")
@example(text="")
def test_each_ngram_is_looked_up(either, text):
    number = {entry: i for i, entry in enumerate(either.tokens()) if i > 1}
    text = normalize(text)
    found = [number.get(ngram, 1) for ngram in oracles.ngrams(f" {text} ", (2, 3))] if text else []
    assert ids(either, text) == [i for i in found if either.keep_unknown or i != 1]
    assert ids(either, text) == either(text)["input_ids"]


def test_a_literal_special_token_is_text():
    for ngrams, expected in ((["<pad>", "<unk>"], [2]), (["catch"], [])):
        tokenizer = CharNgramTokenizer(ngrams=ngrams, orders=[5], padding_mode="none")
        assert ids(tokenizer, "<pad>") == tokenizer("<pad>")["input_ids"] == expected
        assert tokenizer.pad_token_id == 0


@pytest.mark.parametrize(
    ("lines", "settings", "expected"),
    [
        (["ab", "ab", "ba"], {"vocab_size": 5, "orders": (1,)}, ["a", "b"]),
        (["bca", "b"], {"vocab_size": 4, "orders": (1,)}, ["b", "a"]),
        (["ab", "ab", "ba"], {"orders": (2,), "min_count": 2}, ["ab"]),
        # the two most frequent characters and the two most frequent bigrams
        (["abab", "abc", "c"], {"orders": (1, 2), "most_per_order": 2}, ["b", "a", "ab", "ba"]),
    ],
)
def test_ngrams_are_ranked_by_frequency_then_alphabet(lines, settings, expected):
    settings = {"vocab_size": 99, "padding_mode": "none", **settings}
    found = CharNgramTokenizer.train(lines, **settings).tokens()
    assert found[:2] == ["<pad>", "<unk>"]
    assert sorted(found[2:]) == sorted(expected)
    if "most_per_order" not in settings:
        assert found[2:] == expected


@pytest.mark.parametrize("spans_spaces", [True, False])
def test_ngrams_span_spaces_or_stay_in_words(spans_spaces):
    tokenizer = CharNgramTokenizer.train(
        ["a b"], vocab_size=99, orders=(2, 3), spans_spaces=spans_spaces
    )
    spanning = ["a b", " a ", " b "] if spans_spaces else [" a ", " b "]
    assert sorted(tokenizer.tokens()[2:]) == sorted([" a", "a ", " b", "b ", *spanning])
    found = [tokenizer.tokens()[i] for i in ids(tokenizer, "a b")]
    assert ("a b" in found) == spans_spaces


def test_invalid_settings_are_refused():
    for settings in ({"ngrams": ["cat"], "orders": [2, 3]}, {}):
        with pytest.raises(ModelError):
            CharNgramTokenizer(**settings)
    for size, orders in ((99, [3, 9]), (3, [2, 3])):
        with pytest.raises(DataError):
            CharNgramTokenizer.train(["cat"], vocab_size=size, orders=orders)
    with pytest.raises(ValueError, match="'right'"):
        CharNgramTokenizer(ngrams=["cat"], padding_mode="right")
