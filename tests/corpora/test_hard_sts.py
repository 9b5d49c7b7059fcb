from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import percentileofscore

from paraphrastic_hf.corpora.folder import open_folder
from paraphrastic_hf.corpora.load import builder, find_source, load_dataset
from paraphrastic_hf.corpora.readers import similarity
from paraphrastic_hf.corpora.readers.similarity import (
    has_negation,
    moses_tokens,
    percentiles,
    symmetric_word_error_rate,
)
from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS
from paraphrastic_hf.errors import DataError
from tests.corpora.layouts import write_all

TOKENS = st.lists(st.sampled_from(["a", "cat", "sat", "猫", "."]), max_size=8)
COUNTS = {
    "hard_plus": 374,
    "hard_minus": 205,
    "all": 13_023,
    "negation": 705,
    "bottom20_swer_0_2": 404,
    "bottom10_swer_0_1": 72,
    "top20_swer_3_5": 937,
    "top10_swer_4_5": 159,
}
RELEASED = {"hard_plus": "hard-pos.txt", "hard_minus": "hard-neg.txt"}


def word_edits(first, second):

    table = [[i + j for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a != b)
            )
    return table[-1][-1]


@given(TOKENS, TOKENS)
def test_the_rate_is_the_mean_of_both_word_error_rates(first, second):
    if not first or not second:  # it is 0 only for equal sentences
        assert (symmetric_word_error_rate(first, second) == 0) == (first == second)
        return
    edits = word_edits(first, second)
    expected = (edits / len(first) + edits / len(second)) / 2
    assert symmetric_word_error_rate(first, second) == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(
        st.one_of(st.integers(0, 5).map(float), st.floats(0, 20, allow_subnormal=False)),
        min_size=1,
        max_size=40,
    )
)
def test_percentiles_equal_those_of_scipy(values):
    expected = [float(percentileofscore(values, value, kind="rank")) for value in values]
    assert percentiles(values) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("sentence", "is_negated"),
    [
        ("It is not raining.", True),
        ("It doesn't rain.", True),
        ("Nothing is noted in the knot.", False),
        ("I don t know.", False),
        ("No rain.", False),
        ("", False),
    ],
)
def test_only_not_and_its_short_form_are_negations(sentence, is_negated):
    assert has_negation(moses_tokens()(sentence)) is is_negated


def test_moses_tokens_keep_case_and_are_unescaped():
    tokens = moses_tokens()('He said: "AT&T isn\'t [here]."')
    assert " ".join(tokens) == 'He said : " AT & T isn \'t [ here ] . "'


@pytest.fixture(scope="module")
def rows(data, tmp_path_factory):
    """Rows of every configuration. Sentences are tokenized once."""
    tokens = moses_tokens()
    cache = str(tmp_path_factory.mktemp("cache"))
    folder = open_folder(find_source("hard_sts"), "all", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "moses_tokens", lambda: tokens)
        yield {
            name: list(
                builder("hard_sts", name, data_dir=data, cache_dir=cache).rows(folder, "test")
            )
            for name in COUNTS
        }


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASED)
def test_rows_equal_the_released_lists(name, rows, data):
    text = (data / "hard_sts" / RELEASED[name]).read_bytes().decode("utf-8")
    released = [line.split("\t") for line in text.rstrip("\n").split("\n")]

    def by_pair(table):
        return sorted(
            (a.strip(), b.strip(), *(round(float(number), 9) for number in numbers))
            for a, b, *numbers in table
        )

    columns = ("sentence1", "sentence2", "score", "swer", "percentile")
    ours = by_pair(tuple(row[column] for column in columns) for row in rows[name])
    assert ours == by_pair(row[:5] for row in released)


@pytest.mark.slow
def test_rows_satisfy_the_definition_of_their_split(rows):
    assert {name: len(found) for name, found in rows.items()} == COUNTS
    assert all(find_source("hard_sts").configs[name]["test"] == COUNTS[name] for name in COUNTS)
    assert all(row["score"] >= 4 and row["percentile"] >= 80 for row in rows["hard_plus"])
    assert all(row["score"] <= 1 and row["percentile"] <= 20 for row in rows["hard_minus"])
    keys = [(row["sentence1"], row["sentence2"], row["score"]) for row in rows["all"]]
    assert len(set(keys)) == len(keys)
    found = {(row["year"], row["dataset"]) for row in rows["all"]}
    assert found == {(year, name) for year, names in STS_DATASETS.items() for name in names}


def test_both_lists_are_read_from_the_folder_in_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "archives"))
    monkeypatch.setenv("PARAPHRASTIC_DATA", str(write_all(tmp_path / "corpora")))
    assert list(load_dataset("hard_sts", streaming=True)) == ["hard_plus", "hard_minus"]
    monkeypatch.delenv("PARAPHRASTIC_DATA")
    monkeypatch.setattr("paraphrastic_hf.corpora.folder.fetch", Mock(side_effect=DataError("gone")))
    with pytest.raises(DataError):
        load_dataset("hard_sts", cache_dir=str(tmp_path))
