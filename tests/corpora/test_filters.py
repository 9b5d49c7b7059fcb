"""Pairs are kept by score, overlap and length, as the thesis says, and languages are fed alike."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.corpora.filters import (
    PairFilter,
    Sieve,
    first_side_probabilities,
    unique_word_pairs,
)
from paraphrastic_hf.corpora.load import load_dataset

PAIRS = st.lists(st.tuples(*[st.sampled_from(["cat", "dog", "cats", "x2", "²", "ox"])] * 2))

SIX_WORDS = "one two three four five six"


@pytest.mark.parametrize(
    ("option", "limit", "beyond"),
    [("min_score", 0.5, 0.5000001), ("max_score", 0.5, 0.4999999)],
)
def test_a_score_at_the_limit_is_kept(option: str, limit: float, beyond: float) -> None:
    assert PairFilter(**{option: limit}).keeps("a", "b", 0.5)
    assert not PairFilter(**{option: beyond}).keeps("a", "b", 0.5)


@pytest.mark.parametrize(("option", "kept", "dropped"), [("min_words", 4, 5), ("max_words", 6, 5)])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_length_at_the_limit_is_kept(
    option: str, kept: int, dropped: int, is_swapped: bool
) -> None:
    """One side has 4 words and the other 6: the limit is for both."""
    sides = ("four words are here", SIX_WORDS)
    sides = sides[::-1] if is_swapped else sides
    assert PairFilter(**{option: kept}).keeps(*sides)
    assert not PairFilter(**{option: dropped}).keeps(*sides)


def test_an_overlap_at_the_limit_is_kept() -> None:
    sides = ("the cat sat down", "a cat sat down")  # 1 of 2 trigrams
    assert PairFilter(max_overlap=0.5).keeps(*sides)
    assert not PairFilter(max_overlap=0.49).keeps(*sides)


def test_no_filter_keeps_everything() -> None:
    assert PairFilter().keeps("", "", None)
    assert PairFilter().keeps("a", "a", -7.0)


def test_a_score_limit_asks_nothing_of_a_pair_without_score() -> None:
    assert PairFilter(min_score=0.5, max_score=0.9).keeps("a", "b")


def test_limits_of_zero_are_limits() -> None:
    assert not PairFilter(min_score=0.0).keeps("a", "b", -0.1)
    assert not PairFilter(max_words=0).keeps("a", "b")
    assert not PairFilter(max_overlap=0.0).keeps(SIX_WORDS, SIX_WORDS)
    assert PairFilter(max_overlap=0.0).keeps(SIX_WORDS, "nothing in common here")


@pytest.mark.parametrize(
    ("options", "pair", "reason"),
    [
        ({"min_score": 0.5}, ("a", "b", 0.25), "score must be at least 0.5, and is 0.25"),
        ({"max_score": 0.5}, ("a", "b", math.nan), "score must be at most 0.5, and is nan"),
        ({"min_words": 2}, ("a", "a b"), "words of the shorter side must be at least 2, and is 1"),
        ({"max_words": 1}, ("a", "a b"), "words of the longer side must be at most 1, and is 2"),
        (
            {"max_words": 3, "max_overlap": 0.2},  # the cheap question comes first
            ("a b c d", "a b c d"),
            "words of the longer side must be at most 3, and is 4",
        ),
    ],
)
def test_a_pair_left_out_has_a_score_a_bound_and_a_reason(
    options: dict[str, float], pair: tuple, reason: str
) -> None:
    assert str(PairFilter(**options).judge(*pair)) == reason


def test_what_a_sieve_leaves_out_is_counted_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "rejects.tsv"
    with Sieve(PairFilter(min_words=2, max_overlap=0), name="x", rejects=path) as sieve:
        found = [sieve.keeps(*sides) for sides in [("a", "b\tc"), ("a b", "c d"), ("a b c",) * 2]]
    assert found == [False, True, False]
    assert sieve.left_out == {"words of the shorter side": 1, "trigram overlap": 1}
    assert path.read_text().splitlines() == [
        "a\tb c\twords of the shorter side\t1\tat least 2",
        "a b c\ta b c\ttrigram overlap\t1\tat most 0",
    ]


def test_a_sieve_that_is_stopped_leaves_no_half_file(tmp_path: Path) -> None:
    path = tmp_path / "rejects.tsv"
    with pytest.raises(KeyboardInterrupt), Sieve(PairFilter(), name="x", rejects=path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_a_corpus_keeps_what_its_filter_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a cat sleeps\tun chat dort\nyes\toui\n")
    rejects = tmp_path / "rejects.tsv"
    rows = load_dataset(
        "bitext",
        "en-fr",
        "train",
        data_dir=tmp_path / "pairs.tsv",
        streaming=True,
        min_words=2,
        rejects=str(rejects),
    )
    assert [row["fr"] for row in rows] == ["un chat dort"]
    assert rejects.read_text() == "yes\toui\twords of the shorter side\t1\tat least 2\n"


@given(PAIRS, st.none() | st.frozensets(st.sampled_from(["cat", "dog", "cats", "ox"])))
def test_word_pairs_are_those_of_the_slow_loop(
    pairs: list[tuple[str, str]], vocabulary: frozenset[str] | None
) -> None:
    kept: list[tuple[str, str]] = []
    for first, second in pairs:
        if first == second or (first, second) in kept or (second, first) in kept:
            continue
        if {"x2", "²"} & {first, second}:
            continue
        if vocabulary is None or (first in vocabulary and second in vocabulary):
            kept.append((first, second))
    assert list(unique_word_pairs(pairs, vocabulary)) == kept


def test_the_first_order_of_a_repeated_word_pair_is_kept() -> None:
    pairs = [("ox", "cow"), ("cow", "ox"), ("ox", "ox"), ("mp3", "song"), ("ox", "bull")]
    assert list(unique_word_pairs(pairs)) == [("ox", "cow"), ("ox", "bull")]


def test_a_pair_left_out_for_its_words_does_not_hide_a_later_one() -> None:
    pairs = [("ox", "cow"), ("cow", "ox")]
    assert list(unique_word_pairs(pairs, frozenset({"ox"}))) == []
    assert list(unique_word_pairs(iter(pairs), frozenset({"ox", "cow"}))) == [("ox", "cow")]


LANGUAGES = ["fr", "de", "es", "cs", "zh", "ar"]


@pytest.mark.parametrize("count", range(1, 7))
@pytest.mark.parametrize("is_english_first", [True, False])
def test_bitexts_that_share_english_feed_every_language_alike(
    count: int, is_english_first: bool
) -> None:
    pairs = [("en", other) for other in LANGUAGES[:count]]
    pairs = pairs if is_english_first else [pair[::-1] for pair in pairs]
    fed: defaultdict[str, float] = defaultdict(float)
    for (first, second), probability in first_side_probabilities(pairs).items():
        fed[first] += probability
        fed[second] += 1 - probability
    assert fed == pytest.approx(dict.fromkeys(["en", *LANGUAGES[:count]], count / (count + 1)))


@given(st.lists(st.sampled_from(list(itertools.permutations(LANGUAGES, 2))), unique=True))
def test_the_language_of_more_bitexts_is_chosen_less(pairs: list[tuple[str, str]]) -> None:
    count = Counter(language for pair in pairs for language in pair)
    chosen = first_side_probabilities(pairs)
    assert list(chosen) == pairs
    for (first, second), probability in chosen.items():
        assert 0 < probability < 1
        assert (probability < 0.5) == (count[first] > count[second])
        turned = [pair[::-1] for pair in pairs]
        assert first_side_probabilities(turned)[(second, first)] == pytest.approx(1 - probability)


def test_one_bitext_is_chosen_from_evenly() -> None:
    assert first_side_probabilities([("cs", "en")]) == {("cs", "en"): 0.5}
