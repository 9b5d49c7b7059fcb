from __future__ import annotations

import itertools
from collections import Counter
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
from paraphrastic_hf.errors import DataError

PAIRS = st.lists(st.tuples(*[st.sampled_from(["cat", "dog", "cats", "x2", "²", "ox"])] * 2))

SIX_WORDS = "one two three four five six"


@pytest.mark.parametrize(
    ("options", "pair", "is_kept"),
    [
        ({}, ("", "", None), True),
        ({}, ("a", "a", -7.0), True),
        ({"min_score": 0.5}, ("a", "b", 0.5), True),
        ({"min_score": 0.5000001}, ("a", "b", 0.5), False),
        ({"max_score": 0.5}, ("a", "b", 0.5), True),
        ({"max_score": 0.4999999}, ("a", "b", 0.5), False),
        ({"min_score": 0.5, "max_score": 0.9}, ("a", "b"), True),  # has no score
        ({"min_score": 0.0}, ("a", "b", -0.1), False),  # a limit of 0 is a limit
        ({"min_words": 4}, ("four words are here", SIX_WORDS), True),
        ({"min_words": 5}, ("four words are here", SIX_WORDS), False),
        ({"max_words": 6}, (SIX_WORDS, "four words are here"), True),
        ({"max_words": 5}, (SIX_WORDS, "four words are here"), False),
        ({"max_words": 0}, ("a", "b"), False),
        ({"max_overlap": 0.5}, ("the cat sat down", "a cat sat down"), True),  # 1 of 2 trigrams
        ({"max_overlap": 0.49}, ("the cat sat down", "a cat sat down"), False),
        ({"max_overlap": 0.0}, (SIX_WORDS, SIX_WORDS), False),
        ({"max_overlap": 0.0}, (SIX_WORDS, "nothing in common here"), True),
    ],
)
def test_bounds_are_inclusive(options: dict[str, float], pair: tuple, is_kept: bool) -> None:
    for sides in (pair, (pair[1], pair[0], *pair[2:])):
        reason = PairFilter(**options).judge(*sides)
        assert is_kept if reason is None else not is_kept and str(reason)


def test_rejected_pairs_are_counted_and_written(tmp_path: Path) -> None:
    path = tmp_path / "rejects.tsv"
    with Sieve(PairFilter(min_words=2, max_overlap=0), name="x", rejects=path) as sieve:
        found = [sieve.keeps(*sides) for sides in [("a", "b\tc"), ("a b", "c d"), ("a b c",) * 2]]
    assert found == [False, True, False]
    assert list(sieve.left_out.values()) == [1, 1]
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [line[:2] for line in lines] == [["a", "b c"], ["a b c", "a b c"]]
    assert [line[2] for line in lines] == list(sieve.left_out)


def test_a_corpus_writes_its_rejected_pairs(tmp_path: Path) -> None:
    path, rejects = tmp_path / "pairs.tsv", tmp_path / "rejects.tsv"
    path.write_text("a cat sleeps\tun chat dort\nyes\toui\n")
    options = {"data_dir": path, "streaming": True, "min_words": 2, "rejects": str(rejects)}
    rows = load_dataset("bitext", "en-fr", "train", **options)
    assert [row["fr"] for row in rows] == ["un chat dort"]
    assert rejects.read_text().startswith("yes\toui\t")


@given(PAIRS, st.none() | st.frozensets(st.sampled_from(["cat", "dog", "cats", "ox"])))
def test_word_pairs_equal_a_slow_loop(
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


LANGUAGES = ["fr", "de", "es", "cs", "zh", "ar"]


@given(st.lists(st.sampled_from(list(itertools.permutations(LANGUAGES, 2))), unique=True))
def test_a_language_of_more_bitexts_is_chosen_less(pairs: list[tuple[str, str]]) -> None:
    count = Counter(language for pair in pairs for language in pair)
    chosen = first_side_probabilities(pairs)
    assert list(chosen) == pairs
    for (first, second), probability in chosen.items():
        assert 0 < probability < 1
        assert (probability < 0.5) == (count[first] > count[second])
        turned = [pair[::-1] for pair in pairs]
        assert first_side_probabilities(turned)[(second, first)] == pytest.approx(1 - probability)


def test_rejects_are_complete_or_absent(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(DataError):
            Sieve(PairFilter(), name="x", rejects=place)
    with (
        pytest.raises(KeyboardInterrupt),
        Sieve(PairFilter(), name="x", rejects=tmp_path / "r.tsv"),
    ):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
