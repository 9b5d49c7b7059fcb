import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paraphrastic_hf.corpora.filters import (
    PairFilter,
    Sieve,
    first_side_probabilities,
    unique_word_pairs,
)
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.overlap import ngram_overlap

PAIRS = st.lists(st.tuples(*[st.sampled_from(["cat", "dog", "cats", "x2", "²", "ox"])] * 2))

TEXTS = st.sampled_from(
    ["", "a", "the cat sat down", "a cat sat down", "six words are in this text"]
)
LIMITS = st.sampled_from([-0.5, 0.0, 0.5, 0.9]) | st.none()
COUNTS = st.sampled_from([0, 1, 4, 5, 6]) | st.none()


@given(TEXTS, TEXTS, LIMITS, LIMITS, LIMITS, COUNTS, COUNTS, st.sampled_from([0.0, 0.5, 1.0, None]))
def test_bounds_are_inclusive(first, second, score, low, high, fewest, most, overlap):
    assume(None in (low, high) or low <= high)
    assume(None in (fewest, most) or fewest <= most)
    counts = [len(text.split()) for text in (first, second)]
    kept = [
        score is None or low is None or score >= low,
        score is None or high is None or score <= high,
        fewest is None or min(counts) >= fewest,
        most is None or max(counts) <= most,
        overlap is None or ngram_overlap(first, second, 3) <= overlap,
    ]
    options = {"min_score": low, "max_score": high, "min_words": fewest, "max_words": most}
    reason = PairFilter(**options, max_overlap=overlap).judge(first, second, score)
    assert (reason is None) == all(kept)


def test_rejected_pairs_are_counted_and_written(tmp_path):
    path = tmp_path / "rejects.tsv"
    with Sieve(PairFilter(min_words=2, max_overlap=0), name="x", rejects=path) as sieve:
        found = [sieve.keeps(*sides) for sides in [("a", "b\tc"), ("a b", "c d"), ("a b c",) * 2]]
    assert found == [False, True, False]
    assert list(sieve.left_out.values()) == [1, 1]
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [line[:2] for line in lines] == [["a", "b c"], ["a b c", "a b c"]]
    assert [line[2] for line in lines] == list(sieve.left_out)


def test_a_corpus_writes_its_rejected_pairs(tmp_path):
    path, rejects = tmp_path / "pairs.tsv", tmp_path / "rejects.tsv"
    path.write_text("a cat sleeps\tun chat dort\nyes\toui\n")
    options = {"data_dir": path, "streaming": True, "min_words": 2, "rejects": str(rejects)}
    rows = load_dataset("bitext", "en-fr", "train", **options)
    assert [row["fr"] for row in rows] == ["un chat dort"]
    assert rejects.read_text().startswith("yes\toui\t")


@given(PAIRS, st.none() | st.frozensets(st.sampled_from(["cat", "dog", "cats", "ox"])))
def test_word_pairs_equal_a_slow_loop(pairs, vocabulary):
    kept = []
    words = {"cat", "dog", "cats", "ox"} if vocabulary is None else vocabulary
    for first, second in pairs:
        is_new = (first, second) not in kept and (second, first) not in kept
        if first != second and is_new and {first, second} <= words:
            kept.append((first, second))
    assert list(unique_word_pairs(pairs, vocabulary)) == kept


LANGUAGES = ["fr", "de", "es", "cs", "zh", "ar"]


@given(st.lists(st.sampled_from(list(itertools.permutations(LANGUAGES, 2))), unique=True))
def test_a_language_of_more_bitexts_is_chosen_less(pairs):
    count = Counter(language for pair in pairs for language in pair)
    chosen = first_side_probabilities(pairs)
    assert list(chosen) == pairs
    for (first, second), probability in chosen.items():
        assert 0 < probability < 1
        assert (probability < 0.5) == (count[first] > count[second])
        turned = [pair[::-1] for pair in pairs]
        assert first_side_probabilities(turned)[(second, first)] == pytest.approx(1 - probability)


def test_rejects_are_complete_or_absent(tmp_path):
    other = tmp_path / "mine.tsv"
    other.write_text("my own\tpair\n")
    for place in (tmp_path, Path("/dev/null"), other):
        with pytest.raises(DataError):
            Sieve(PairFilter(), name="x", rejects=place)
    sieve = Sieve(PairFilter(), name="x", rejects=tmp_path / "r.tsv")
    with pytest.raises(KeyboardInterrupt), sieve:
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [other]
