import bz2
import codecs
import gzip
import io
import lzma
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io import lines
from paraphrastic_hf.io.lines import (
    aligned_lines,
    checked_start,
    number_in,
    open_lines,
    raw_lines,
    read_blocks,
    table_rows,
    text_lines,
)
from tests.io.packed import written

LINE_MARKS = ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "a.txt.bz2"])
def test_lines_are_numbered_from_1_packed_or_not(name, tmp_path):
    path = written(tmp_path / name, "one\n\n三\n")
    assert list(text_lines(path)) == [(1, "one"), (2, ""), (3, "三")]
    assert list(read_blocks(str(path))) == [["one", "", "三"]]
    written(path, b"one\r\n\xff\nthree")
    assert list(raw_lines(path)) == [(1, b"one\r"), (2, b"\xff"), (3, b"three")]
    assert [line for _, line in text_lines(path, encoding="latin-1")] == ["one", "ÿ", "three"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        *((each, ["one", "two"]) for each in ("one\r\ntwo\r\n", "\ufeffone\ntwo\n", "one\ntwo")),
        ("one\n\ufefftwo\n", ["one", "\ufefftwo"]),  # a byte order mark inside a file is text
        ("a\rb\r\n", ["a\rb"]),
        ("", []),
        ("\ufeff", []),
    ],
)
def test_a_harmless_oddity_does_not_change_the_lines(content, expected, tmp_path):
    path = written(tmp_path / "a.txt", content)
    assert list(text_lines(path)) == list(enumerate(expected, 1))


@given(st.lists(st.text(st.sampled_from(["a", "\t", *LINE_MARKS]), min_size=1), max_size=4))
def test_only_a_line_feed_ends_a_line(texts):
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "a.txt", "".join(f"b{text}c\n" for text in texts))
        assert [line for _, line in text_lines(path)] == [f"b{text}c" for text in texts]
        rows = [f"b{text}c".split("\t") for text in texts]
        assert [row for _, row in table_rows(path, 1)] == rows


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
@pytest.mark.parametrize("bad", [b"caf\xe9\n", b"le\0ft\n"], ids=["latin-1", "NUL"])
def test_bytes_that_are_not_text_are_refused(bad, name, tmp_path):
    path = written(tmp_path / name, b"fine\n" + bad)
    good = written(tmp_path / "good", "1\n2\n")
    aligned = aligned_lines(path, good), aligned_lines(good, path)
    for read in (text_lines(path), table_rows(path, 1), *aligned):
        with pytest.raises(DataError, match=rf"{name}:2 ") as error:
            list(read)
        assert ("byte 3" in str(error.value)) == ("iconv" in str(error.value)) == (b"\0" not in bad)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_another_encoding_is_refused_with_advice(name, encoding, mark, tmp_path):
    path = written(tmp_path / name, f"{mark}a cat\tun chat\n".encode(encoding))
    with pytest.raises(DataError, match=rf"{name}.*{encoding[:6]}"):
        list(text_lines(path))


@pytest.mark.parametrize("head", [b"", b"a cat\n", b"a\0cat sleeps\n", codecs.BOM_UTF8 + b"a"])
def test_utf_8_with_a_nul_byte_is_read(head):
    assert checked_start(head, "a.tsv") == head.removeprefix(codecs.BOM_UTF8)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", ["", "\r"], ids=["no last line end", "last line end"])
def test_without_line_feeds_carriage_returns_end_lines(end, mark, name, tmp_path, monkeypatch):
    path = written(tmp_path / name, f"{mark}one\r\rthree{end}")
    assert list(text_lines(path)) == [(1, "one"), (2, ""), (3, "three")]
    for size in (10, 2**23):
        monkeypatch.setattr(lines, "MOST_BYTES", size)
        found = [line for block in read_blocks(str(path)) for line in block]
        assert found == ["one", "", "three"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("size", [1, 4, 2**18])
def test_a_carriage_return_long_before_the_first_line_feed_is_text(
    size, name, tmp_path, monkeypatch
):
    monkeypatch.setattr(lines, "FEW_BYTES", size)
    monkeypatch.setattr(lines, "MOST_BYTES", size)
    path = written(tmp_path / name, "a\rbc" + "d" * 20 + "\ntwo\n")
    expected = ["a\rbc" + "d" * 20, "two"]
    assert [line for _, line in text_lines(path)] == expected
    assert [line for block in read_blocks(str(path)) for line in block] == expected


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
def test_a_packed_file_cut_short_names_the_last_good_line(name, tmp_path):
    path = written(tmp_path / name, "".join(f"line {i * i}\n" for i in range(3000)))
    path.write_bytes(path.read_bytes()[:-200])
    seen = []
    with pytest.raises(DataError) as error:  # noqa: PT012
        for number, line in text_lines(path):
            assert line == f"line {(number - 1) ** 2}"
            seen.append(number)
    assert f"line {len(seen)}:" in str(error.value)


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz", "a.txt.bz2"])
def test_missing_and_wrongly_packed_files_are_refused(name, tmp_path):
    path = tmp_path / name
    for content in (None, b"plain text\n", b"\x1f\x8b", b"\xfd7zXZ\0"):
        if content is not None:
            path.write_bytes(content)
        for read in (path, tmp_path):
            with pytest.raises(DataError):
                list(text_lines(read))


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a\tb\n\n  \n\tc\td\n", {}, [(1, ["a", "b"]), (4, ["", "c", "d"])]),
        ("a b ||| c\td\n", {"separator": " ||| "}, [(1, ["a b", "c\td"])]),
        ('"a\tb"\n', {}, [(1, ['"a', 'b"'])]),  # quotes are text
        ("id\ttext\r\n1\tb\r\n", {"header": "id"}, [(2, ["1", "b"])]),
        ("\ufeffid\ttext\r\n1\tb\r\n", {"header": "id"}, [(2, ["1", "b"])]),
    ],
)
def test_rows_of_a_table_by_hand(content, options, expected, tmp_path):
    assert list(table_rows(written(tmp_path / "a.tsv", content), 2, **options)) == expected


@pytest.mark.parametrize(
    ("content", "options", "named"),
    [
        ("a\tb\tc\n\nd\te\n", {}, r"a\.tsv:3 "),
        ("a\tb\tc\n\n" + "word " * 10_000, {}, r"a\.tsv:3 "),
        *((f"{first}\n2\tc\n", {"header": "id"}, r"a\.tsv:1 .*'id'") for first in ("1\tb", "")),
    ],
)
def test_short_rows_and_other_headers_are_refused_briefly(content, options, named, tmp_path):
    with pytest.raises(DataError, match=named) as error:
        list(table_rows(written(tmp_path / "a.tsv", content), 3, **options))
    assert len(str(error.value)) < 400


def test_aligned_files_are_read_side_by_side(tmp_path):
    first = written(tmp_path / "a.en", "one\r\n\nthree\n")
    second = written(tmp_path / "a.de.gz", "\ufeffeins\nzwei\ndrei")
    expected = [(1, "one", "eins"), (2, "", "zwei"), (3, "three", "drei")]
    assert list(aligned_lines(first, second)) == expected


@pytest.mark.parametrize(("longer", "shorter"), [("a.en", "a.de"), ("a.de", "a.en")])
def test_the_shorter_aligned_file_is_named(longer, shorter, tmp_path):
    written(tmp_path / longer, "1\n2\n3\n")
    for short in ("1\n2\n", ""):
        written(tmp_path / shorter, short)
        with pytest.raises(DataError, match=rf"{shorter} .*{longer}"):
            list(aligned_lines(tmp_path / "a.en", tmp_path / "a.de"))


def test_a_number_is_read_if_it_is_finite_and_within_the_range():
    for text in ("0", " 2.5 ", "1e0", "-0"):
        assert number_in(text, "a.txt:1", low=0, high=5) == float(text)
    for text in ("5.001", "-0.001", "nan", "inf", "1e999", "", "2,5", "1 2"):
        with pytest.raises(DataError, match=rf"^a\.txt:7 .*'{text}'"):
            number_in(text, "a.txt:7", low=0, high=5)


@pytest.mark.parametrize(
    "read", [text_lines, lambda path: table_rows(path, 2), lambda path: aligned_lines(path, path)]
)
@pytest.mark.parametrize("ending", ["read to the end", "left early", "failed"])
def test_no_file_stays_open(ending, read, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(
        lines, "open_lines", lambda path: opened.append(open_lines(path)) or opened[-1]
    )
    last = b"caf\xe9\tb\n" if ending == "failed" else b"c\td\n"
    rows = read(written(tmp_path / "a.tsv.gz", b"a\tb\n" + last))
    if ending == "left early":
        next(rows)
        rows.close()
    with suppress(DataError):
        list(rows)
    assert opened
    assert all(file.closed for file in opened)


OTHER_KINDS = {
    "zip": b"PK\x03\x04\x14\0\0\0\x08\0",
    "parquet": b"PAR1\x15\x04\x15\x0c",
    "numpy": b"\x93NUMPY\x01\0",
    "safetensors": save({"weight": torch.zeros(2)}),
    "zstd": b"\x28\xb5\x2f\xfd\x24\x06",
    "bzip2": bz2.compress(b"a cat\n"),
    "xz": lzma.compress(b"a cat\n"),
    "gzip": gzip.compress(b"a cat\n"),
    "XML": b"\xef\xbb\xbf<?xml version='1.0'?>",
    "TMX": b"<tmx version='1'>\n",
    "document type": b"<!DOCTYPE mteval SYSTEM 'mteval.dtd'>",
    "SGML": b'<srcset setid="newstest" srclang="any">\n',
    "SGML document": b'<DOC docid="1">\n<seg id="1">A.</seg>',
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_a_file_of_another_kind_is_refused_by_its_first_bytes(kind, tmp_path):
    path = written(tmp_path / "lines.txt", OTHER_KINDS[kind])
    for read in (read_blocks(str(path)), text_lines(path)):
        with pytest.raises(DataError):
            list(read)


@pytest.mark.parametrize(
    "text",
    ["PK", "PAR1 of the story", "BZh is a name", "1AY&SY", "", "<s> a cat", "<docs are here"],
)
def test_text_similar_to_other_files_is_text(text, tmp_path):
    path = written(tmp_path / "lines.txt", text + "\nsecond\n")
    assert list(read_blocks(str(path))) == [[text, "second"]]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_a_line_that_is_too_long_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "MOST_BYTES", 300)
    longest = "x" * 1000
    path = written(tmp_path / name, f"one\n{longest}\nthree")
    assert [line for block in read_blocks(str(path)) for line in block] == ["one", longest, "three"]
    written(path, f"one\n{longest}x\nthree")
    with pytest.raises(DataError, match=rf"{name}:2 .*1,000"):
        list(read_blocks(str(path)))


@pytest.mark.parametrize("as_they_come", [False, True])
def test_reading_stops_at_a_line_that_is_too_long(as_they_come, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "MOST_BYTES", 300)
    given = io.BytesIO(b"one\n" + bytes(10_000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    with pytest.raises(DataError):
        list(read_blocks("-", as_they_come=as_they_come))
    assert given.tell() <= 1200
