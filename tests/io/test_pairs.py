"""Sentence pairs and bad rows."""

from __future__ import annotations

import gzip
import logging
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import Pair, RowReport, iterate_rows, read_pairs, rows_of_dataset

GOOD = [("the ferry leaves", "the boat departs"), ("猫が寝る", "the cat sleeps"), ("où", "where")]


def tsv(path: Path, content: str | bytes) -> Path:
    """Write bytes, packed as the name says."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data))
    return path


def lines(pairs: list[Pair]) -> str:
    return "".join(f"{first}\t{second}\n" for first, second in pairs)


def numbered(count: int) -> list[Pair]:
    return [(f"left {i}", f"right {i}") for i in range(count)]


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz", "a.txt"])
def test_pairs_are_read_in_file_order(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert read_pairs(tsv(tmp_path / name, lines(GOOD)), bad_rows="refuse") == GOOD
    assert not caplog.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
        ("\ufeffa\tb\nc\td", [("a", "b"), ("c", "d")]),
        ("a\tb\t0.9\tx\nc\td\t\t\n", [("a", "b"), ("c", "d")]),
        (" a \t b\nc\td \n", [("a", "b"), ("c", "d")]),
        ("a\tb\n\ufeffc\td\n", [("a", "b"), ("\ufeffc", "d")]),
        *((f"a{mark}b\tc\n", [(f"a{mark}b", "c")]) for mark in "\u2028\u0085\x0b\x1c"),
        # column names in other places, or alone
        ("source\tsentence2\nsource\ttarget\n", [("source", "sentence2"), ("source", "target")]),
    ],
)
def test_a_harmless_oddity_does_not_change_the_pairs(
    content: str, expected: list[Pair], tmp_path: Path
) -> None:
    assert read_pairs(tsv(tmp_path / "a.tsv", content)) == expected


BAD = [
    *(b"no tab here\n", b"le\0ft\tright\n", b"l\xe9ft\tright\n", b"a\tb\tc\n"),
    *(b"\n", b"\t\n", b"left\t \n", b"\tright\n", "\u00a0\tright\n".encode()),
]


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_skipped_or_refused_by_its_line(
    row: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tsv(tmp_path / "a.tsv", b"a\tb\n" + row + b"c\td\n")
    with caplog.at_level(logging.WARNING):
        assert read_pairs(path) == [("a", "b"), ("c", "d")]
    assert "(a.tsv:2)" in caplog.text
    with pytest.raises(DataError, match=r"a\.tsv:2 .*bad_rows"):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize(
    "content", ["", "\n\n", "one column\n"], ids=["empty", "blank", "one column"]
)
def test_a_file_without_a_good_pair_is_a_data_error(content: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.tsv"):
        read_pairs(tsv(tmp_path / "a.tsv", content))


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_packed_file_that_is_missing_or_damaged_is_named(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.tsv{suffix}"
    with pytest.raises(DataError, match=path.name):
        read_pairs(path)
    data = tsv(path, lines(numbered(2000))).read_bytes()
    middle = len(data) // 2
    for damaged in (data[:-200], data[:middle] + b"\xff" * 50 + data[middle + 50 :], b"plain\tone"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=path.name):
            read_pairs(path)
    path.write_bytes(data[:-200])
    assert next(iterate_rows(path)) == (f"{path.name}:1", ["left 0", "right 0"])


def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    long = "word " * 200_000 + "end"
    pairs = [("a", "b"), (long, "short"), ("c", "d")]
    assert read_pairs(tsv(tmp_path / "a.tsv", lines(pairs))) == pairs


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_aligned_files_give_pairs(suffix: str, tmp_path: Path) -> None:
    first = tsv(tmp_path / f"a.en{suffix}", "one\r\ntab\there\nthree\n")
    second = tsv(tmp_path / f"a.de{suffix}", "eins\nzwei\ndrei")
    expected = [("one", "eins"), ("tab\there", "zwei"), ("three", "drei")]
    assert read_pairs(first, second=second) == expected
    shorter = tsv(tmp_path / f"b.de{suffix}", "eins\nzwei\n")
    for sides in ((first, shorter), (shorter, first), (first, tmp_path / f"b.en{suffix}")):
        with pytest.raises(DataError, match=r"b\."):
            read_pairs(sides[0], second=sides[1])


@pytest.mark.parametrize("bad", [b"\xff\n", b"\0\n", b"\n"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_bad_line_skips_its_pair(bad: bytes, side: int, tmp_path: Path) -> None:
    for i, name in enumerate(["a.en", "a.de"]):
        tsv(tmp_path / name, b"1\n" + (bad if i == side else b"2\n") + b"3\n")
    paths = tmp_path / "a.en", tmp_path / "a.de"
    assert read_pairs(paths[0], second=paths[1]) == [("1", "1"), ("3", "3")]
    with pytest.raises(DataError, match=r"a\.en:2"):
        read_pairs(paths[0], second=paths[1], bad_rows="refuse")


def test_word_limits_apply_to_both_sides(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", "a\tb\na b\tc\na b\tc d\na b c\td e\n")
    assert read_pairs(path, min_words=2) == [("a b", "c d"), ("a b c", "d e")]
    assert read_pairs(path, max_words=2) == [("a", "b"), ("a b", "c"), ("a b", "c d")]


def test_an_error_names_word_limits_that_leave_no_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a b\tc d\none two three\tone\nonly one\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"min_words \(3\).*max_words \(9\)"):
        read_pairs(path, min_words=3, max_words=9)


def test_a_sample_depends_on_the_seed_and_keeps_file_order(tmp_path: Path) -> None:
    pairs = numbered(200)
    path = tsv(tmp_path / "a.tsv", lines(pairs))
    sample = read_pairs(path, max_pairs=20, seed=5)
    assert sample == read_pairs(path, max_pairs=20, seed=5)
    assert sample != read_pairs(path, max_pairs=20, seed=6)
    assert len(set(sample)) == 20
    assert sample == sorted(sample, key=pairs.index)
    assert read_pairs(path, max_pairs=200) == read_pairs(path, max_pairs=10**9) == pairs


def test_sampling_is_uniform(tmp_path: Path) -> None:
    """200 samples of 5 in 10: each row occurs 100 times, with a standard deviation of 7.1."""
    path = tsv(tmp_path / "a.tsv", lines(numbered(10)))
    seen = Counter(pair for seed in range(200) for pair in read_pairs(path, max_pairs=5, seed=seed))
    assert len(seen) == 10
    assert all(abs(count - 100) < 5 * 7.1 for count in seen.values())


def test_bad_rows_are_not_sampled(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", "bad\n" * 50 + lines(numbered(5)))
    assert read_pairs(path, max_pairs=5, max_bad_rows=1) == numbered(5)


def saved(folder: Path, columns: dict[str, list[Any]]) -> Path:
    datasets.Dataset.from_dict(columns).save_to_disk(folder)
    return folder


def test_a_saved_dataset_gives_its_first_two_text_columns(tmp_path: Path) -> None:
    columns = {"id": [1, 2], "a": ["one", "two"], "b": ["eins", "zwei"], "c": ["un", "deux"]}
    path = saved(tmp_path / "d", columns)
    assert read_pairs(path) == [("one", "eins"), ("two", "zwei")]
    assert read_pairs(path, columns=("c", "a")) == [("un", "one"), ("deux", "two")]


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("value", [None, ""])
def test_a_null_or_empty_text_in_a_saved_dataset_is_a_bad_row(
    value: str | None, row: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    columns: dict[str, list[Any]] = {"a": ["one", "two"], "b": ["eins", "zwei"]}
    columns["b"][row] = value
    path = saved(tmp_path / "d", columns)
    assert len(read_pairs(path)) == 1
    assert f"(d:{row})" in caplog.text
    with pytest.raises(DataError, match=f"d:{row} "):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize("columns", [None, ("a", "z"), ("a", "score")])
def test_a_dataset_without_the_text_columns_names_them(
    columns: tuple[str, str] | None, tmp_path: Path
) -> None:
    path = saved(tmp_path / "d", {"a": ["one"], "score": [0.5]})
    with pytest.raises(DataError, match="score"):
        read_pairs(path, columns=columns)


def test_a_folder_of_splits_is_refused(tmp_path: Path) -> None:
    split = datasets.Dataset.from_dict({"a": ["one"], "b": ["eins"]})
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "d")
    with pytest.raises(DataError, match="train, test"):
        read_pairs(tmp_path / "d")
    assert read_pairs(tmp_path / "d" / "train") == [("one", "eins")]
    with pytest.raises(DataError, match=str(tmp_path)):
        read_pairs(tmp_path)


def test_any_iterable_of_mappings_is_a_dataset() -> None:
    rows = [{"n": 1, "a": "one", "b": "eins"}, {"n": 2, "a": "two", "b": "zwei"}]
    expected = [("dataset:0", ["one", "eins"]), ("dataset:1", ["two", "zwei"])]
    assert list(rows_of_dataset(rows)) == list(rows_of_dataset(iter(rows))) == expected
    with pytest.raises(DataError, match="train, test"):
        list(rows_of_dataset({"train": rows, "test": rows}))


def test_a_report_shows_the_first_places_and_counts_all() -> None:
    report = RowReport()
    for number in range(1, 1201):
        report.add("without two columns", f"a.tsv:{number}")
    report.add("not valid UTF-8", "a.tsv:9999")
    found = report.describe()
    assert all(count in found for count in ("1,201", "1,200", "(a.tsv:9999)"))
    assert "(a.tsv:1, a.tsv:2, a.tsv:3, a.tsv:4, a.tsv:5)" in found


@pytest.mark.parametrize(
    "header",
    ["sentence1\tsentence2", "Sentence 1\tSentence 2", "translation\treference", "SRC\ttgt"],
)
def test_a_header_is_not_a_pair(
    header: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tsv(tmp_path / "a.tsv", f"{header}\n{lines(GOOD)}")
    with caplog.at_level(logging.INFO):
        assert read_pairs(path, bad_rows="refuse") == GOOD
    assert all(name in caplog.text for name in header.split("\t"))


@pytest.mark.parametrize("content", ["one\nb\tc\n", "one\nx\t\n"], ids=["usable", "unusable"])
def test_bad_rows_are_reported_once(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = ""
    try:
        read_pairs(tsv(tmp_path / "a.tsv", content))
    except DataError as error:
        told = str(error)
    assert (told + caplog.text).count("(a.tsv:1)") == 1


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_saved_dataset_with_changed_bytes_is_refused(place: float, tmp_path: Path) -> None:
    """It is mapped into memory, where a wrong offset would crash the process."""
    texts = [f"a text of some length, number {i}" for i in range(50)]
    path = next(saved(tmp_path / "pairs", {"a": texts, "b": texts}).glob("*.arrow"))
    data = bytearray(path.read_bytes())
    start = int(len(data) * place)
    data[start : start + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(DataError, match="pairs"):
        read_pairs(tmp_path / "pairs")


def test_named_columns_are_found_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tSentence1\tsentence2\n1\ta cat\tthe cat\n", encoding="utf-8")
    assert read_pairs(path) == [("a cat", "the cat")]
    path.write_text("sentence1\tsentence2\tid\na cat\tthe cat\t1\n", encoding="utf-8")
    assert read_pairs(path) == [("a cat", "the cat")]
