"""Faults of score files are reported with file and line, read or streamed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.sources import read_records
from paraphrastic_hf.errors import DataError
from tests.corpora.layouts import SICK_HEADER, write


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
    Bad(DEV, GOOD.encode() + b"m\ti\t1\t8\t5\tcaf\xe9\tb\n", 2, "", "stsb"),
    Bad(DEV, "m\ti\t1\t8\t5\ta\0\tb\n", 1, "", "stsb"),
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


def load(corpora: Path, *names: str, streaming: bool) -> None:
    options: dict[str, Any] = {"data_dir": corpora, "cache_dir": str(corpora.parent / "rows")}
    list(load_dataset(*names, streaming=streaming, **options))


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.name} {bad.content!r:.40}")
def test_bad_lines_are_refused_with_their_place(bad: Bad, streaming: bool, corpora: Path) -> None:
    write(corpora, bad.path, bad.content)
    place = re.escape(f"{Path(bad.path).name}:{bad.line} ")
    with pytest.raises(DataError, match=f"{place}.*{re.escape(bad.value)}"):
        load(corpora, bad.name, bad.config, bad.split, streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
@pytest.mark.parametrize(
    ("path", "content", "name", "named"),
    [
        (DEV, "\n\n", ("stsb", "default", "validation"), "validation"),
        (LABELS, "true\t1\n" * 3, ("twitter", "default", "test"), r"test\.label .*3 .*2"),
    ],
)
def test_files_without_rows_or_with_too_many_labels_are_refused(
    path: str, content: str, name: tuple[str, ...], named: str, streaming: bool, corpora: Path
) -> None:
    write(corpora, path, content)
    with pytest.raises(DataError, match=named):
        load(corpora, *name, streaming=streaming)


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
def test_a_missing_file_of_a_set_is_refused(
    path: str, name: str, config: str, streaming: bool, corpora: Path
) -> None:
    (corpora / path).unlink()
    with pytest.raises(DataError, match=Path(path).name):
        load(corpora, name, config, "test", streaming=streaming)


@pytest.mark.parametrize("source", read_records("similarity"), ids=lambda source: source.name)
def test_a_wrong_folder_is_refused_with_the_missing_files(source: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    write(wrong, "readme.txt", "nothing here\n")
    with pytest.raises(DataError, match=str(wrong)) as error:
        load_dataset(source.name, data_dir=wrong, cache_dir=str(tmp_path / "rows"))
    assert any(word in str(error.value) for word in (".txt", ".csv", ".tsv", ".data", "sts12"))
