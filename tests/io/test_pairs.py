"""Good pairs come through untouched; a bad row is counted by its place, or refused by it."""

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
    """Written as bytes, so that line ends are what the test says."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data))
    return path


def lines(pairs: list[Pair]) -> str:
    return "".join(f"{first}\t{second}\n" for first, second in pairs)


def numbered(count: int) -> list[Pair]:
    return [(f"left {i}", f"right {i}") for i in range(count)]


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz", "a.txt"])
def test_pairs_come_in_file_order(name: str, tmp_path: Path) -> None:
    assert read_pairs(tsv(tmp_path / name, lines(GOOD))) == GOOD


@pytest.mark.parametrize(
    "content",
    [
        "a\tb\r\nc\td\r\n",
        "\ufeffa\tb\nc\td\n",
        "a\tb\nc\td",
        "a\tb\t0.9\tx\nc\td\t\t\n",
        " a \t b\nc\td \n",
    ],
    ids=["CRLF", "BOM", "no last line end", "more columns", "spaces around"],
)
def test_a_harmless_oddity_does_not_change_the_pairs(content: str, tmp_path: Path) -> None:
    assert read_pairs(tsv(tmp_path / "a.tsv", content)) == [("a", "b"), ("c", "d")]


def test_a_byte_order_mark_inside_a_file_is_text(tmp_path: Path) -> None:
    assert read_pairs(tsv(tmp_path / "a.tsv", "a\tb\n\ufeffc\td\n"))[1] == ("\ufeffc", "d")


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0b", "\x1c"])
def test_only_a_line_feed_ends_a_line(mark: str, tmp_path: Path) -> None:
    assert read_pairs(tsv(tmp_path / "a.tsv", f"a{mark}b\tc\n")) == [(f"a{mark}b", "c")]


BAD = {
    "without two columns": b"no tab here\n",
    "with an empty side": b"left\t \n",
    "with a NUL character": b"le\0ft\tright\n",
    "not valid UTF-8": b"l\xe9ft\tright\n",
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_row_is_skipped_and_counted(
    reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tsv(tmp_path / "a.tsv", b"a\tb\n" + BAD[reason] + b"c\td\n")
    with caplog.at_level(logging.WARNING):
        assert read_pairs(path) == [("a", "b"), ("c", "d")]
    assert f"1 row skipped: 1 {reason} (a.tsv:2)" in caplog.text


@pytest.mark.parametrize("reason", BAD)
def test_refusing_names_the_file_the_line_and_the_reason(reason: str, tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", b"a\tb\n" + BAD[reason] + b"c\td\n")
    with pytest.raises(DataError, match=f"a.tsv:2 is a row {reason}.*bad_rows"):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize("row", ["\n", "\t\n", "left\t\n", "\tright\n", "\u00a0\tright\n"])
def test_either_side_may_be_the_empty_one(row: str, tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", "a\tb\n" + row)
    assert read_pairs(path) == [("a", "b")]
    with pytest.raises(DataError, match=r"a\.tsv:2"):
        read_pairs(path, bad_rows="refuse")


def test_good_files_are_read_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        read_pairs(tsv(tmp_path / "a.tsv", lines(GOOD)), bad_rows="refuse")
    assert not caplog.text


@pytest.mark.parametrize(
    "content", ["", "\n\n", "one column\n"], ids=["empty", "blank", "one column"]
)
def test_a_file_without_a_good_pair_is_a_data_error(content: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.tsv"):
        read_pairs(tsv(tmp_path / "a.tsv", content))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz"])
def test_a_missing_file_is_a_data_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"cannot open .*{name}: No such file"):
        read_pairs(tmp_path / name)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_packed_file_cut_short_is_a_data_error(suffix: str, tmp_path: Path) -> None:
    path = tsv(tmp_path / f"a.tsv{suffix}", lines(numbered(2000)))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=f"a.tsv{suffix} is damaged after line "):
        read_pairs(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_packed_file_with_changed_bytes_is_a_data_error(suffix: str, tmp_path: Path) -> None:
    path = tsv(tmp_path / f"a.tsv{suffix}", lines(numbered(2000)))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 50] = b"\xff" * 50
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"a.tsv{suffix} is damaged after line "):
        read_pairs(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_plain_file_with_a_packed_name_is_a_data_error(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.tsv{suffix}").write_text(lines(GOOD), encoding="utf-8")
    with pytest.raises(DataError, match="damaged"):
        read_pairs(tmp_path / f"a.tsv{suffix}")


def test_a_line_of_a_megabyte_is_a_pair_like_any_other(tmp_path: Path) -> None:
    long = "word " * 200_000 + "end"
    pairs = [("a", "b"), (long, "short"), ("c", "d")]
    assert read_pairs(tsv(tmp_path / "a.tsv", lines(pairs))) == pairs


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_aligned_files_give_pairs(suffix: str, tmp_path: Path) -> None:
    first = tsv(tmp_path / f"a.en{suffix}", "one\r\ntab\there\nthree\n")
    second = tsv(tmp_path / f"a.de{suffix}", "eins\nzwei\ndrei")
    assert read_pairs(first, second=second) == [
        ("one", "eins"),
        ("tab\there", "zwei"),
        ("three", "drei"),
    ]


@pytest.mark.parametrize(("longer", "shorter"), [("first", "second"), ("second", "first")])
def test_aligned_files_of_different_lengths_are_a_data_error(
    longer: str, shorter: str, tmp_path: Path
) -> None:
    tsv(tmp_path / longer, "a\nb\nc\n")
    tsv(tmp_path / shorter, "a\nb\n")
    with pytest.raises(DataError, match="align"):
        read_pairs(tmp_path / "first", second=tmp_path / "second")


@pytest.mark.parametrize("bad", [b"\xff\n", b"\0\n", b"\n"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_bad_line_takes_its_partner_with_it(bad: bytes, side: int, tmp_path: Path) -> None:
    for i, name in enumerate(["a.en", "a.de"]):
        tsv(tmp_path / name, b"1\n" + (bad if i == side else b"2\n") + b"3\n")
    paths = tmp_path / "a.en", tmp_path / "a.de"
    assert read_pairs(paths[0], second=paths[1]) == [("1", "1"), ("3", "3")]
    with pytest.raises(DataError, match=r"a\.en:2"):
        read_pairs(paths[0], second=paths[1], bad_rows="refuse")


def test_a_missing_second_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot open .*a\.de"):
        read_pairs(tsv(tmp_path / "a.en", "a\n"), second=tmp_path / "a.de")


def test_word_limits_count_white_space_words_of_both_sides(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", "a\tb\na b\tc\na b\tc d\na b c\td e\n")
    assert read_pairs(path, min_words=2) == [("a b", "c d"), ("a b c", "d e")]
    assert read_pairs(path, max_words=2) == [("a", "b"), ("a b", "c"), ("a b", "c d")]


def test_where_the_limits_leave_nothing_the_error_says_so(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a b\tc d\none two three\tone\nonly one\n", encoding="utf-8")
    with pytest.raises(DataError, match="2 pairs with a side of fewer words than") as error:
        read_pairs(path, min_words=3, max_words=9)
    assert str(error.value).endswith("than min_words (3) or more than max_words (9)")
    assert "1 row skipped" in str(error.value)


def test_a_sample_is_the_same_each_time_and_in_file_order(tmp_path: Path) -> None:
    pairs = numbered(200)
    path = tsv(tmp_path / "a.tsv", lines(pairs))
    sample = read_pairs(path, max_pairs=20, seed=5)
    assert sample == read_pairs(path, max_pairs=20, seed=5)
    assert len(set(sample)) == 20
    assert sample == sorted(sample, key=pairs.index)


def test_another_seed_gives_another_sample(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", lines(numbered(200)))
    assert read_pairs(path, max_pairs=20, seed=1) != read_pairs(path, max_pairs=20, seed=2)


def test_a_cap_that_is_not_reached_keeps_everything(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", lines(numbered(20)))
    assert read_pairs(path, max_pairs=20) == read_pairs(path, max_pairs=10**9) == numbered(20)


def test_every_row_has_the_same_chance(tmp_path: Path) -> None:
    """600 samples of 5 in 10: each row is in 300, give or take 5 standard deviations of 12.3."""
    path = tsv(tmp_path / "a.tsv", lines(numbered(10)))
    seen = Counter(pair for seed in range(600) for pair in read_pairs(path, max_pairs=5, seed=seed))
    assert len(seen) == 10
    assert all(abs(count - 300) < 5 * 12.3 for count in seen.values())


def test_bad_rows_take_no_place_in_the_sample(tmp_path: Path) -> None:
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


def test_a_bad_row_of_a_saved_dataset_is_skipped_by_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = saved(tmp_path / "d", {"a": ["one", "", "two"], "b": ["eins", "leer", "zwei"]})
    assert read_pairs(path) == [("one", "eins"), ("two", "zwei")]
    assert "1 with an empty side (d:1)" in caplog.text


@pytest.mark.parametrize("row", [0, 1])
def test_a_null_in_a_saved_dataset_is_a_bad_row(row: int, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"a": ["one", "two"], "b": ["eins", "zwei"]}
    columns["b"][row] = None
    path = saved(tmp_path / "d", columns)
    assert len(read_pairs(path)) == 1
    with pytest.raises(DataError, match=f"d:{row} is a row"):
        read_pairs(path, bad_rows="refuse")


def test_a_named_column_without_text_is_a_data_error(tmp_path: Path) -> None:
    path = saved(tmp_path / "d", {"a": ["one"], "score": [0.5]})
    with pytest.raises(DataError, match="score"):
        read_pairs(path, columns=("a", "score"))


@pytest.mark.parametrize("columns", [None, ("a", "z")], ids=["one text column", "unknown name"])
def test_a_dataset_without_the_columns_lists_those_it_has(
    columns: tuple[str, str] | None, tmp_path: Path
) -> None:
    path = saved(tmp_path / "d", {"a": ["one"], "score": [0.5]})
    with pytest.raises(DataError, match="a, score"):
        read_pairs(path, columns=columns)


def test_a_folder_of_splits_asks_for_one(tmp_path: Path) -> None:
    split = datasets.Dataset.from_dict({"a": ["one"], "b": ["eins"]})
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "d")
    with pytest.raises(DataError, match="train, test"):
        read_pairs(tmp_path / "d")
    assert read_pairs(tmp_path / "d" / "train") == [("one", "eins")]


def test_a_folder_that_is_no_dataset_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="save_to_disk"):
        read_pairs(tmp_path)


def test_any_iterable_of_mappings_is_a_dataset() -> None:
    rows = [{"n": 1, "a": "one", "b": "eins"}, {"n": 2, "a": "two", "b": "zwei"}]
    assert list(rows_of_dataset(rows)) == [
        ("dataset:0", ["one", "eins"]),
        ("dataset:1", ["two", "zwei"]),
    ]
    assert list(rows_of_dataset(iter(rows))) == list(rows_of_dataset(rows))
    with pytest.raises(DataError, match="has splits, train, test; give one of them"):
        list(rows_of_dataset({"train": rows, "test": rows}))


def test_a_report_shows_the_first_places_and_counts_all() -> None:
    report = RowReport()
    for number in range(1, 1201):
        report.add("without two columns", f"a.tsv:{number}")
    report.add("not valid UTF-8", "a.tsv:9999")
    assert report.describe() == (
        "1,201 rows skipped: 1,200 without two columns "
        "(a.tsv:1, a.tsv:2, a.tsv:3, a.tsv:4, a.tsv:5); 1 not valid UTF-8 (a.tsv:9999)"
    )


def test_rows_can_be_read_one_at_a_time(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv.gz", lines(numbered(2000)))
    path.write_bytes(path.read_bytes()[:-200])
    assert next(iterate_rows(path)) == ("a.tsv.gz:1", ["left 0", "right 0"])


def test_a_row_of_another_number_of_columns_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A tab inside a text would otherwise shift the sides."""
    path = tsv(tmp_path / "a.tsv", "a\tb\nc\td\te\nf\tg\n")
    assert read_pairs(path) == [("a", "b"), ("f", "g")]
    assert "(a.tsv:2)" in caplog.text


@pytest.mark.parametrize(
    "header",
    ["sentence1\tsentence2", "Sentence 1\tSentence 2", "translation\treference", "SRC\ttgt"],
)
def test_a_first_line_that_names_the_columns_is_no_pair(
    header: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tsv(tmp_path / "a.tsv", f"{header}\n{lines(GOOD)}")
    with caplog.at_level(logging.INFO):
        assert read_pairs(path, bad_rows="refuse") == GOOD
    assert all(name in caplog.text for name in header.split("\t"))


def test_such_names_are_a_pair_in_every_other_place_or_beside_another_word(tmp_path: Path) -> None:
    pairs = [("source", "sentence2"), ("source", "target")]
    assert read_pairs(tsv(tmp_path / "a.tsv", lines(pairs))) == pairs


@pytest.mark.parametrize("content", ["one\nb\tc\n", "one\nx\t\n"], ids=["usable", "unusable"])
def test_bad_rows_are_told_once(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = ""
    try:
        read_pairs(tsv(tmp_path / "a.tsv", content))
    except DataError as error:
        told = str(error)
    assert (told + caplog.text).count("(a.tsv:1)") == 1


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_saved_dataset_with_changed_bytes_is_refused_or_read(
    place: float, tmp_path: Path
) -> None:
    """It is mapped into memory, where a wrong offset would end the process."""
    texts = [f"a text of some length, number {i}" for i in range(50)]
    datasets.Dataset.from_dict({"a": texts, "b": texts}).save_to_disk(str(tmp_path / "pairs"))
    (path,) = (tmp_path / "pairs").glob("*.arrow")
    data = bytearray(path.read_bytes())
    start = int(len(data) * place)
    data[start : start + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"pairs (is damaged|is a folder but no saved dataset)"):
        read_pairs(tmp_path / "pairs")


def test_texts_in_other_columns_are_not_taken_for_the_first_two(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tSentence1\tsentence2\n1\ta cat\tthe cat\n", encoding="utf-8")
    assert read_pairs(path) == [("a cat", "the cat")]
    path.write_text("sentence1\tsentence2\tid\na cat\tthe cat\t1\n", encoding="utf-8")
    assert read_pairs(path) == [("a cat", "the cat")]
