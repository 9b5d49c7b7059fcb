"""What is wrong in a file of scores is said with file and line, read or streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.sources import read_records
from paraphrastic_hf.errors import DataError
from tests.corpora.layouts import SICK_HEADER, write, write_all


class Bad(NamedTuple):
    """A file put in the place of a good one, and what the error says."""

    path: str
    content: str | bytes
    message: str
    name: str
    config: str = "default"
    split: str = "validation"


DEV = "stsbenchmark/sts-dev.csv"
TRIAL = "sick2014/SICK_trial.txt"
GOLD = "sts14/original/STS.gs.OnWN.txt"
INPUT = "sts14/original/STS.input.OnWN.txt"
TRACK = "sts17/STS2017.eval.v1.1/STS.input.track5.en-en.txt"
TRACK_GOLD = "sts17/STS2017.gs/STS.gs.track5.en-en.txt"
PHRASES = "ppdb_annotated/ppdb_dev.txt"
BIGRAMS = "ppdb_annotated/bigram_dev.jn.txt"
RATED = "ppdb_pavlick26k/ppdb-sample.tsv"
WORDS = "wordsim/mfaruqui_eval-word-vectors/EN-SIMLEX-999.txt"
TWEETS = "twitter/dev.data"
LABELS = "twitter/test.label"
GOOD_LINE = "m\ti\t1\t8\t5\ta\tb\n"

BAD = {
    "benchmark: no number": Bad(DEV, "m\ti\t1\t8\thigh\ta\tb\n", r"dev\.csv:1 .*'high'", "stsb"),
    "benchmark: out of range": Bad(
        DEV, f"{GOOD_LINE}\nm\ti\t1\t8\t6\ta\tb\n", r"dev\.csv:3 .*'6'", "stsb"
    ),
    "benchmark: six columns": Bad(DEV, "m\ti\t1\t8\t5\ta\n", r"dev\.csv:1 ", "stsb"),
    "benchmark: latin-1": Bad(
        DEV, GOOD_LINE.encode() + b"m\ti\t1\t8\t5\tcaf\xe9\tb\n", r"dev\.csv:2 ", "stsb"
    ),
    "benchmark: NUL": Bad(DEV, "m\ti\t1\t8\t5\ta\0\tb\n", r"dev\.csv:1 ", "stsb"),
    "benchmark: no row": Bad(DEV, "\n\n", "validation", "stsb"),
    "SICK: no header": Bad(TRIAL, "4\te\tf\t3.6\tNEUTRAL\n", r"trial\.txt:1 .*'pair_ID'", "sick"),
    "SICK: judgment": Bad(
        TRIAL, f"{SICK_HEADER}4\te\tf\t3.6\tMAYBE\n", r"trial\.txt:2 .*'MAYBE'", "sick"
    ),
    "SICK-E: judgment": Bad(
        TRIAL, f"{SICK_HEADER}4\te\tf\t3.6\t\n", r"trial\.txt:2 .*''", "sick_e"
    ),
    "SICK: pair number": Bad(
        TRIAL,
        f"{SICK_HEADER}x\te\tf\t3.6\tNEUTRAL\n",
        r"trial\.txt:2 .*'x'",
        "sick",
    ),
    "SICK: score 0": Bad(
        TRIAL, f"{SICK_HEADER}4\te\tf\t0\tNEUTRAL\n", r"trial\.txt:2 .*'0'", "sick"
    ),
    "Twitter: votes": Bad(
        TWEETS, "2\tT\ta\tb\t(five, 0)\tx\ty\n", r"dev\.data:1 .*'\(five, 0\)'", "twitter"
    ),
    "Twitter: seven votes": Bad(
        TWEETS, "2\tT\ta\tb\t(7, 0)\tx\ty\n", r"dev\.data:1 .*'\(?7", "twitter"
    ),
    "Twitter: label": Bad(
        LABELS,
        "true\t1.0\ntrue\thigh\n",
        r"test\.label:2 .*'high'",
        "twitter",
        split="test",
    ),
    "Twitter: more labels": Bad(
        LABELS, "true\t1\n" * 3, r"test\.label .*3 .*2", "twitter", split="test"
    ),
    "phrases: score": Bad(PHRASES, "a|||b|||0.5\n", r"dev\.txt:1 .*'0.5'", "annotated_ppdb"),
    "phrases: tabs": Bad(PHRASES, "a\tb\t3\n", r"dev\.txt:1 ", "annotated_ppdb"),
    "bigrams: score": Bad(BIGRAMS, "a b|||c d|||8\n", r"jn\.txt:1 .*'8'", "bigrams", "jn"),
    "ratings: one is empty": Bad(
        RATED, "4\tNP\ta\tb\t3,,5\n", r"sample\.tsv:1 .*''", "pavlick_ppdb", split="test"
    ),
    "words: score": Bad(
        WORDS, "a\tb\t1\nc\td\tinf\n", r"999\.txt:2 .*'inf'", "wordsim", "simlex", "test"
    ),
    "STS: no number": Bad(GOLD, "good\n", r"gs\.OnWN\.txt:1 .*'good'", "sts", "sts14", "test"),
    "STS: not finite": Bad(GOLD, "nan\n", r"gs\.OnWN\.txt:1 .*'nan'", "sts", "sts14", "test"),
    "STS: more scores": Bad(
        GOLD,
        "1\n2\n",
        r"input\.OnWN\.txt .*1 .*gs\.OnWN\.txt .*2",
        "sts",
        "sts14",
        "test",
    ),
    "STS: no tab": Bad(INPUT, "one\n", r"input\.OnWN\.txt:1 ", "sts", "sts14", "test"),
    "STS: latin-1": Bad(INPUT, b"caf\xe9\tb\n", r"input\.OnWN\.txt:1 ", "sts", "sts14", "test"),
    "Hard STS: no number": Bad(
        GOLD, "good\n", r"gs\.OnWN\.txt:1 .*'good'", "hard_sts", "all", "test"
    ),
    "STS17: more scores": Bad(TRACK, "a\tb\n", r"en-en\.txt .*1 .*2", "sts17", "en-en", "test"),
    "STS17: no number": Bad(
        TRACK_GOLD, "4.8\n-\n", r"en-en\.txt:2 .*'-'", "sts17", "en-en", "test"
    ),
}


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "archives"))
    return write_all(tmp_path / "corpora")


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
@pytest.mark.parametrize("key", BAD)
def test_a_bad_line_is_named_by_its_file(key: str, streaming: bool, corpora: Path) -> None:
    bad = BAD[key]
    write(corpora, bad.path, bad.content)
    options: dict[str, Any] = {"data_dir": corpora, "cache_dir": str(corpora.parent / "rows")}
    with pytest.raises(DataError, match=bad.message):
        list(load_dataset(bad.name, bad.config, bad.split, streaming=streaming, **options))


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
@pytest.mark.parametrize(
    ("path", "name", "config"),
    [
        ("sts14/original/STS.gs.images.txt", "sts", "sts14"),
        ("sts14/original/STS.gs.images.txt", "hard_sts", "hard_plus"),
        (TRACK_GOLD, "sts17", "en-en"),
        ("stsbenchmark/sts-test.csv", "stsb", "default"),
        ("sick2014/SICK_test_annotated.txt", "sick_e", "default"),
        (LABELS, "twitter", "default"),
        ("ppdb_annotated/bigram_test.jn.txt", "bigrams", "jn"),
    ],
)
def test_a_missing_member_is_named(
    path: str, name: str, config: str, streaming: bool, corpora: Path
) -> None:
    (corpora / path).unlink()
    options: dict[str, Any] = {"data_dir": corpora, "cache_dir": str(corpora.parent / "rows")}
    with pytest.raises(DataError, match=Path(path).name):
        list(load_dataset(name, config, "test", streaming=streaming, **options))


@pytest.mark.parametrize("source", read_records("similarity"), ids=lambda source: source.name)
def test_a_wrong_folder_is_named_with_what_was_looked_for(source: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    write(wrong, "readme.txt", "nothing here\n")
    with pytest.raises(DataError, match=str(wrong)) as error:
        load_dataset(source.name, data_dir=wrong, cache_dir=str(tmp_path / "rows"))
    assert any(word in str(error.value) for word in (".txt", ".csv", ".tsv", ".data", "sts12"))
