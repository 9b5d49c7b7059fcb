"""Overlapping n-grams: every one of the padded text, by whichever route it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.char_ngram import PADDINGS, CharNgramTokenizer, extract_ngrams
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart, normalize
from tests import oracles
from tests.texts import SENTENCES, any_text

HARD_CASES = ["", "<pad> <unk>", "a", "\0\ud800"]


def ids(tokenizer: CharNgramTokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch([text])[0].tolist()


@pytest.fixture(scope="module", params=[False, True], ids=["unknown dropped", "unknown kept"])
def either(request: pytest.FixtureRequest) -> CharNgramTokenizer:
    return CharNgramTokenizer.train(
        SENTENCES, vocab_size=300, orders=(2, 3), keep_unknown=request.param
    )


@pytest.mark.parametrize(
    ("padding_mode", "expected"),
    [("both", [" ca", "cat", "at "]), ("left", [" ca", "cat"]), ("none", ["cat"])],
)
def test_by_hand(padding_mode: str, expected: list[str]) -> None:
    assert extract_ngrams("cat", [3], padding_mode) == expected


@given(
    any_text, st.lists(st.integers(1, 6), min_size=1, max_size=3), st.sampled_from(sorted(PADDINGS))
)
def test_every_ngram_of_the_padded_text_counts(
    text: str, orders: list[int], padding_mode: str
) -> None:
    text = normalize(text)
    left, right = {"both": (" ", " "), "left": (" ", ""), "none": ("", "")}[padding_mode]
    expected = oracles.ngrams(left + text + right, orders) if text else []
    assert extract_ngrams(text, orders, padding_mode) == expected


@given(text=any_text)
@example(text="<pad> <unk>")
@example(text="")
def test_each_ngram_is_looked_up(either: CharNgramTokenizer, text: str) -> None:
    number = {entry: i for i, entry in enumerate(either.tokens()) if i > 1}
    text = normalize(text)
    found = [number.get(ngram, 1) for ngram in oracles.ngrams(f" {text} ", (2, 3))] if text else []
    assert ids(either, text) == [i for i in found if either.keep_unknown or i != 1]


@given(text=any_text)
@example(text="<pad> <unk>")
@example(text="")
def test_a_batch_gives_what_a_call_gives(either: CharNgramTokenizer, text: str) -> None:
    assert ids(either, text) == either(text)["input_ids"]


def test_a_literal_special_token_of_ngram_length_is_text() -> None:
    tokenizer = CharNgramTokenizer(ngrams=["<pad>", "<unk>"], orders=[5], padding_mode="none")
    assert ids(tokenizer, "<pad>") == tokenizer("<pad>")["input_ids"] == [2]
    assert tokenizer.pad_token_id == 0


def test_a_literal_special_token_that_is_no_ngram_is_unknown() -> None:
    tokenizer = CharNgramTokenizer(ngrams=["catch"], orders=[5], padding_mode="none")
    assert ids(tokenizer, "<pad>") == tokenizer("<pad>")["input_ids"] == []


def test_a_padded_call_masks_its_padding(char_ngram: CharNgramTokenizer) -> None:
    batch = char_ngram(["the rain", "the"], padding=True, return_tensors="np")
    assert (batch["input_ids"][batch["attention_mask"] == 0] == 0).all()
    assert batch["attention_mask"].sum(1).tolist() == [
        len(ids(char_ngram, t)) for t in ("the rain", "the")
    ]


def remote_class(folder: Path) -> type[CharNgramTokenizer]:
    """The class in the Python files of a saved tokenizer, for machines without this package."""
    return get_class_from_dynamic_module(
        "paraphrastic_text_char_ngram.CharNgramTokenizer", str(folder)
    )


@pytest.mark.parametrize("keep_unknown", [False, True])
def test_every_way_of_loading_gives_the_same_ids(
    sentences: list[str], keep_unknown: bool, tmp_path: Path
) -> None:
    tokenizer = CharNgramTokenizer.train(
        sentences, vocab_size=200, orders=(2, 4), padding_mode="left", keep_unknown=keep_unknown
    )
    tokenizer.save(tmp_path)
    assert remote_class(tmp_path).__module__.startswith("transformers_modules")
    for loaded in (
        load_tokenizer(tmp_path),
        AutoTokenizer.from_pretrained(tmp_path),
        AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True),
        remote_class(tmp_path).from_pretrained(tmp_path),
    ):
        assert loaded.tokens() == tokenizer.tokens()
        for text in [*sentences, *HARD_CASES]:
            assert ids(tokenizer, text) == ids(loaded, text) == loaded(text)["input_ids"]


def test_what_was_loaded_saves_and_loads_again(
    char_ngram: CharNgramTokenizer, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    char_ngram.save(first)
    remote_class(first).from_pretrained(first).save_pretrained(second)
    again = remote_class(second).from_pretrained(second)
    assert again("the rain")["input_ids"] == ids(char_ngram, "the rain")


def test_ngrams_are_ranked_by_frequency_then_alphabet() -> None:
    tokenizer = CharNgramTokenizer.train(
        ["ab", "ab", "ba"], vocab_size=5, orders=(1,), padding_mode="none"
    )
    assert tokenizer.tokens() == ["<pad>", "<unk>", "a", "b"]
    tokenizer = CharNgramTokenizer.train(
        ["bca", "b"], vocab_size=4, orders=(1,), padding_mode="none"
    )
    assert tokenizer.tokens() == ["<pad>", "<unk>", "b", "a"]


def test_rare_ngrams_are_left_out() -> None:
    lines = ["ab", "ab", "ba"]
    tokenizer = CharNgramTokenizer.train(
        lines, vocab_size=99, orders=(2,), padding_mode="none", min_count=2
    )
    assert tokenizer.tokens()[2:] == ["ab"]


def test_each_order_has_its_share() -> None:
    """The two most frequent characters and the two most frequent bigrams."""
    tokenizer = CharNgramTokenizer.train(
        ["abab", "abc", "c"], vocab_size=99, orders=(1, 2), padding_mode="none", most_per_order=2
    )
    assert sorted(tokenizer.tokens()[2:]) == ["a", "ab", "b", "ba"]


@pytest.mark.parametrize("spans_spaces", [True, False])
def test_ngrams_span_spaces_or_stay_in_words(spans_spaces: bool, tmp_path: Path) -> None:
    tokenizer = CharNgramTokenizer.train(
        ["a b"], vocab_size=99, orders=(2, 3), spans_spaces=spans_spaces
    )
    tokenizer.save(tmp_path)
    spanning = ["a b", " a ", " b "] if spans_spaces else [" a ", " b "]
    for loaded in (tokenizer, load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)):
        assert sorted(loaded.tokens()[2:]) == sorted([" a", "a ", " b", "b ", *spanning])
        found = [loaded.tokens()[i] for i in ids(loaded, "a b")]
        assert ("a b" in found) == spans_spaces


def test_an_order_without_a_vocabulary_is_refused_with_the_way_out() -> None:
    with pytest.raises(ModelError, match=r"no n-gram of order 2: leave it out of orders, \[2, 3\]"):
        CharNgramTokenizer(ngrams=["cat"], orders=[2, 3])
    with pytest.raises(DataError, match="no character n-gram of order 9"):
        CharNgramTokenizer.train(["cat"], vocab_size=99, orders=[3, 9])
    with pytest.raises(DataError, match=r"order 3.*vocab_size, 3"):
        CharNgramTokenizer.train(["cat"], vocab_size=3, orders=[2, 3])


def test_lower_casing_is_a_choice() -> None:
    assert CharNgramTokenizer.train(["CAT"], vocab_size=9).tokens()[2:] == [" ca", "at ", "cat"]
    assert CharNgramTokenizer.train(["CAT"], vocab_size=9, lowercase=False).tokens()[2:] == [
        " CA",
        "AT ",
        "CAT",
    ]


def test_a_language_kept_apart_shares_no_ngram(sentences: list[str]) -> None:
    plain = [normalize(sentence) for sentence in sentences]
    apart = [keep_apart(sentence) for sentence in plain if max(sentence) <= "\uffff"]
    tokenizer = CharNgramTokenizer.train([*plain, *apart], vocab_size=10_000)
    shared = set(tokenizer.encode_batch(plain).ids) & set(tokenizer.encode_batch(apart).ids)
    assert not shared


@pytest.mark.parametrize(
    "lines", [[], [""], ["\0 \t"]], ids=["no line", "empty line", "blank line"]
)
def test_training_on_nothing_is_a_data_error(lines: list[str]) -> None:
    with pytest.raises(DataError, match="no character n-gram"):
        CharNgramTokenizer.train(lines, vocab_size=10)


def test_too_few_ngrams_are_accepted_or_refused() -> None:
    assert CharNgramTokenizer.train(["cat"], vocab_size=10).vocab_size == 5
    with pytest.raises(DataError, match="use at most 5"):
        CharNgramTokenizer.train(["cat"], vocab_size=10, hard_vocab_limit=True)


def test_an_unknown_padding_mode_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="both, left, none, got 'right'"):
        CharNgramTokenizer(ngrams=["cat"], padding_mode="right")


def test_a_tokenizer_without_its_vocabulary_is_a_model_error() -> None:
    with pytest.raises(ModelError, match=r"ngrams\.json"):
        CharNgramTokenizer()
