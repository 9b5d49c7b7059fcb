import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from paraphrastic_hf.corpora.load import builder, load_dataset
from paraphrastic_hf.corpora.readers.similarity import share_of
from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS, ScoredPairs
from paraphrastic_hf.corpora.sources import read_records
from paraphrastic_hf.errors import DataError
from tests.corpora.layouts import FILES, ROWS, SICK_HEADER, write, write_all


def load(corpora, name, config, split, **options):
    cache = str(corpora.parent / "rows")
    return load_dataset(name, config, split, data_dir=corpora, cache_dir=cache, **options)


@pytest.mark.parametrize(("name", "config", "split"), ROWS)
def test_rows_equal_the_files(name, config, split, corpora):
    for streaming in (False, True):
        found = load(corpora, name, config, split, streaming=streaming)
        assert list(found) == ROWS[name, config, split]
        with pytest.raises(DataError):
            load(corpora, name, config, "dev", streaming=streaming)


def test_all_years_come_in_order(corpora):
    rows = load(corpora, "sts", "all", "test")
    expected = [(year, name) for year, names in STS_DATASETS.items() for name in names]
    assert list(zip(rows["year"], rows["dataset"], strict=True)) == expected


def test_hard_sts_uses_all_years(corpora):
    rows = load(corpora, "hard_sts", "all", "test")
    assert len(rows) == len({name for names in STS_DATASETS.values() for name in names})
    assert set(rows["percentile"]) == {52.0}


def test_data_dir_may_be_a_folder_or_archive_of_a_year(corpora):
    packed = corpora.parent / "packed" / "sts14"
    packed.mkdir(parents=True)
    archive = shutil.make_archive(str(packed / "STS2014-en-test"), "zip", corpora / "sts14")
    for given in ("sts14", "sts14/original", archive, packed.parent):
        rows = load_dataset("sts", "sts14", "test", data_dir=corpora / given, streaming=True)
        assert list(rows) == ROWS["sts", "sts14", "test"]


def test_all_splits_are_loaded_without_a_split(corpora):
    assert set(load(corpora, "stsb", "default", None)) == {"train", "validation", "test"}
    assert set(load(corpora, "sts", "sts12", None)) == {"train", "test"}
    assert set(load(corpora, "sts", "sts13", None, streaming=True)) == {"test"}
    assert list(load(corpora, "sts", "sts14", "test[1:3]")) == ROWS["sts", "sts14", "test"][1:3]
    first = load(corpora, "sts", None, "test")
    assert list(first) == ROWS["sts", "sts12", "test"]
    for path in (corpora / "sts12" / "train").rglob("*.txt"):
        path.unlink()
    assert set(load(corpora, "sts", "sts12", None)) == {"test"}


@pytest.mark.parametrize(
    ("name", "config", "options", "named"),
    [
        ("stss", None, {}, ["'stss'", "'sts'"]),
        ("hardsts", None, {}, ["'hardsts'", "'hard_sts'"]),
        ("sts", "sts-14", {}, ["'sts-14'", "'sts14'"]),
        ("sts17", "xx", {}, ["'xx'", "en-en, ar-ar"]),
        ("paranmt", "50m", {"min_scor": 1}, ["'min_scor'", "'min_score'"]),
        ("sts", "sts14", {"min_score": 1}, ["'min_score'"]),
    ],
)
def test_unknown_names_are_reported_with_the_nearest(name, config, options, named, corpora):
    with pytest.raises(DataError, match=".*".join(named)):
        load_dataset(name, config, data_dir=corpora, **options)


def test_changed_files_are_read_again(corpora, tmp_path):
    path, good = "stsbenchmark/sts-test.csv", FILES["stsbenchmark/sts-test.csv"]
    other = write_all(tmp_path / "other")
    write(other, path, good.replace("\ta", "\ty"))
    for content, expected in ((good, "a"), (good.replace("\ta", "\tx"), "x"), (good, "a")):
        write(corpora, path, content)
        assert list(load(corpora, "stsb", "default", "test")["sentence1"]) == [expected]
        assert list(load(other, "stsb", "default", "test")["sentence1"]) == ["y"]
        write(corpora, path, "broken\n")
        with pytest.raises(DataError):
            load(corpora, "stsb", "default", "test")


def test_unchanged_files_are_read_once(corpora, monkeypatch):
    load(corpora, "sts", "sts14", "test")
    made = type(builder("sts", "sts14"))
    monkeypatch.setattr(made, "rows", lambda *_: pytest.fail("the files were read again"))
    assert list(load(corpora, "sts", "sts14", "test")) == ROWS["sts", "sts14", "test"]


@pytest.mark.parametrize(("size", "sizes"), [(19, (7, 1, 11)), (750, (300, 75, 375))])
def test_the_supervised_splits_divide_a_dataset(size, sizes):
    rows = [{"number": number} for number in range(size)]
    pairs = {name: ScoredPairs(name, "2014", [], [], []) for name in ("images", "OnWN")}
    found = {
        name: [list(share_of(rows, split, item)) for split in ("train", "validation", "test")]
        for name, item in pairs.items()
    }
    assert tuple(map(len, found["images"])) == sizes
    assert sorted(row["number"] for part in found["images"] for row in part) == list(range(size))
    assert found["images"] != found["OnWN"]
    assert list(share_of(rows, "test", pairs["OnWN"])) == found["OnWN"][2]


class Bad(NamedTuple):
    """A bad file, the line and value that the error names, and the corpus it belongs to."""

    path: str
    content: str | bytes
    line: int
    value: str
    name: str
    config: str = "default"
    split: str = "validation"


DEV = "stsbenchmark/sts-dev.csv"
TRIAL = "sick2014/SICK_trial.txt"
GOLD = "sts14/original/STS.gs.OnWN.txt"
TRACK_GOLD = "sts17/STS2017.gs/STS.gs.track5.en-en.txt"
PHRASES = "ppdb_annotated/ppdb_dev.txt"
BIGRAMS = "ppdb_annotated/bigram_dev.jn.txt"
RATED = "ppdb_pavlick26k/ppdb-sample.tsv"
WORDS = "wordsim/mfaruqui_eval-word-vectors/EN-SIMLEX-999.txt"
TWEETS = "twitter/dev.data"
LABELS = "twitter/test.label"
GOOD = "m\ti\t1\t8\t5\ta\tb\n"

BAD = [  # other faults of STS files are in test_sts_files.py
    Bad(DEV, "m\ti\t1\t8\thigh\ta\tb\n", 1, "'high'", "stsb"),
    Bad(DEV, f"{GOOD}\nm\ti\t1\t8\t6\ta\tb\n", 3, "'6'", "stsb"),
    Bad(DEV, "m\ti\t1\t8\t5\ta\n", 1, "", "stsb"),
    Bad(TRIAL, "4\te\tf\t3.6\tNEUTRAL\n", 1, "'pair_ID'", "sick"),
    Bad(TRIAL, f"{SICK_HEADER}4\te\tf\t3.6\tMAYBE\n", 2, "'MAYBE'", "sick"),
    Bad(TRIAL, f"{SICK_HEADER}4\te\tf\t3.6\t\n", 2, "''", "sick_e"),
    Bad(TRIAL, f"{SICK_HEADER}x\te\tf\t3.6\tNEUTRAL\n", 2, "'x'", "sick"),
    Bad(TRIAL, f"{SICK_HEADER}4\te\tf\t0\tNEUTRAL\n", 2, "'0'", "sick"),
    Bad(TWEETS, "2\tT\ta\tb\t(five, 0)\tx\ty\n", 1, "'(five, 0)'", "twitter"),
    Bad(TWEETS, "2\tT\ta\tb\t(7, 0)\tx\ty\n", 1, "'7'", "twitter"),
    Bad(LABELS, "true\t1.0\ntrue\thigh\n", 2, "'high'", "twitter", split="test"),
    Bad(PHRASES, "a|||b|||0.5\n", 1, "'0.5'", "annotated_ppdb"),
    Bad(PHRASES, "a\tb\t3\n", 1, "", "annotated_ppdb"),
    Bad(BIGRAMS, "a b|||c d|||8\n", 1, "'8'", "bigrams", "jn"),
    Bad(RATED, "4\tNP\ta\tb\t3,,5\n", 1, "''", "pavlick_ppdb", split="test"),
    Bad(WORDS, "a\tb\t1\nc\td\tinf\n", 2, "'inf'", "wordsim", "simlex", "test"),
    Bad(GOLD, "good\n", 1, "'good'", "sts", "sts14", "test"),
    Bad(GOLD, "good\n", 1, "'good'", "hard_sts", "all", "test"),
    Bad(TRACK_GOLD, "4.8\n-\n", 2, "'-'", "sts17", "en-en", "test"),
]


def refused(corpora, *names):
    """Return the error of loading, which is the same while streaming."""
    errors = set()
    for streaming in (False, True):
        with pytest.raises(DataError) as error:
            list(load(corpora, *names, streaming=streaming))
        errors.add(str(error.value))
    (error,) = errors
    return error


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.name} {bad.content!r:.40}")
def test_bad_lines_are_refused_with_their_place(bad, corpora):
    write(corpora, bad.path, bad.content)
    error = refused(corpora, bad.name, bad.config, bad.split)
    assert f"{Path(bad.path).name}:{bad.line} " in error
    assert bad.value in error


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        (DEV, "\n\n", ("stsb", "default", "validation")),
        (LABELS, "true\t1\n" * 3, ("twitter", "default", "test")),
        ("sts14/original/STS.gs.images.txt", None, ("sts", "sts14", "test")),
        ("sts14/original/STS.gs.images.txt", None, ("hard_sts", "hard_plus", "test")),
        (TRACK_GOLD, None, ("sts17", "en-en", "test")),
        ("stsbenchmark/sts-test.csv", None, ("stsb", "default", "test")),
        ("sick2014/SICK_test_annotated.txt", None, ("sick_e", "default", "test")),
        (LABELS, None, ("twitter", "default", "test")),
        ("ppdb_annotated/bigram_test.jn.txt", None, ("bigrams", "jn", "test")),
    ],
)
def test_files_that_are_missing_or_do_not_match_are_refused(path, content, names, corpora):
    (corpora / path).unlink()
    if content is not None:
        write(corpora, path, content)
    refused(corpora, *names)


@pytest.mark.parametrize("source", read_records("similarity"), ids=lambda source: source.name)
def test_a_wrong_folder_is_refused(source, tmp_path):
    with pytest.raises(DataError):
        load_dataset(source.name, data_dir=tmp_path, cache_dir=str(tmp_path / "rows"))
