"""Lines of text files, with their numbers: the one place where bytes become lines.

Lines end in LF or CRLF, and a CR within them is text. In a file without LF, each CR ends a line.
`text_lines` refuses bad lines, `io/pairs.py` skips them and `io/blocks.py` keeps them; all
three read the same raw bytes.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, cast

from paraphrastic_hf.errors import DataError, counted

OTHER_ENCODINGS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
LONGEST_LINE = 1 << 26  # bytes; what is longer is no text, or has no line ends
READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


# what the first bytes of files say they are, and what to do
ENDING = "let its name end in "
MARKUP = (  # of XML and TMX, HTML, and the SGML of WMT and NIST
    rb"(?i)(\xef\xbb\xbf)?\s*<(\?xml |!doctype |"
    rb"(tmx|html|(src|ref|tst|data)set|mteval|doc)( [^>]*)?>)"
)
OTHER_FILES = {
    rb"PK\x03\x04": ("a zip archive", "unpack it first"),
    rb"PAR1\x15": ("a parquet file", "write its texts to a file, one a line"),
    rb"ARROW1\0\0": ("an Arrow file", "write its texts to a file, one a line"),
    rb"\x93NUMPY": ("an array of numpy", "give the text that it was made of"),
    rb"[\s\S]{5}\0\0\0\{\"": ("a safetensors file of weights", "give a file of text"),
    rb"\x28\xb5\x2f\xfd": ("packed by zstd", "unpack it first, with zstd -d"),
    rb"BZh[1-9]1AY&SY": ("packed by bzip2", ENDING + ".bz2"),
    rb"\xfd7zXZ\0": ("packed by xz", ENDING + ".xz"),
    rb"\x1f\x8b\x08": ("packed by gzip", ENDING + ".gz"),
    MARKUP: ("markup, such as XML, SGML or TMX", "write its texts to a file, one a line"),
}
PACKED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
TABLES = {".csv": "CSV", ".jsonl": "JSON", ".json": "JSON"}


def open_lines(path: Path) -> BinaryIO:
    """A file's bytes, unpacked if its name ends in .gz, .xz or .bz2."""
    try:
        return cast(BinaryIO, PACKED.get(path.suffix, open)(path, "rb"))
    except OSError as error:
        raise DataError(f"cannot open {path}: {error.strerror or error}") from error


def table_kind(path: Path) -> str | None:
    """`CSV` or `JSON` by the name of a file, packed or not; None for any other."""
    name = path.with_suffix("") if path.suffix in PACKED else path
    return TABLES.get(name.suffix.lower())


def refuse_table(path: str) -> None:
    """Refuse a table of named columns where lines of text are read."""
    kind = table_kind(Path(path))
    if kind is not None:
        raise DataError(
            f"{path} is {kind} by its name, and this command reads texts, one a line; write its "
            "texts to such a file (encode: name one with --column), or give its lines as they are "
            "on standard input (-)"
        )


def checked_start(head: bytes, name: object) -> bytes:
    """Return the first bytes of a text without a UTF-8 byte order mark.

    Args:
        head: The first line, or more.
    """
    marked = (each for mark, each in OTHER_ENCODINGS.items() if head.startswith(mark))
    encoding = next(marked, None)
    if encoding is None:
        refuse_other_files(head, name)
        halves = head[::2].count(0), head[1::2].count(0)  # UTF-16 without a mark: one is NUL
        if max(halves) * 3 > len(head) and min(halves) * 9 < len(head):
            encoding = "UTF-16LE" if halves[1] > halves[0] else "UTF-16BE"
    if encoding is not None:
        code = encoding.lower()
        raise DataError(f"{name} is {encoding}; convert it: iconv -f {code} -t utf-8 OLD > NEW")
    return head.removeprefix(codecs.BOM_UTF8)


def ends_in_cr(head: bytes) -> bool:
    """Return whether lines end in CR, as in classic Mac and Excel's "CSV (Macintosh)"."""
    return b"\n" not in head and b"\r" in head.rstrip(b"\r")


def refuse_other_files(head: bytes, name: object) -> None:
    """Refuse a file whose first bytes show that it is not text."""
    for start, (what, way_out) in OTHER_FILES.items():
        if re.match(start, head):
            raise DataError(
                f"{name} is {what}, but lines of text are read here, plain or packed as .gz, .xz "
                f"or .bz2; {way_out}"
            )


def raw_lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """Line numbers from 1 with the bytes of each line, its end included."""
    with open_lines(path) as lines:
        yield from numbered(lines, path)


def numbered(lines: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """As `raw_lines`, of an open file; `path` is for messages."""
    number = 0
    while True:
        try:
            raw = lines.readline(LONGEST_LINE + 1)
        except READ_ERRORS as error:
            raise DataError(f"{path} is damaged after line {number}: {error}") from error
        if not raw:
            return
        number += 1
        refuse_long_line(raw, path, number)
        if number == 1:
            raw = checked_start(raw, path)
            if ends_in_cr(raw):  # this was the whole file
                yield from enumerate(raw.replace(b"\r", b"\n").splitlines(keepends=True), 1)
                return
        yield number, raw


def refuse_long_line(line: bytes | bytearray, name: object, number: int) -> None:
    """Refuse a line, or what is read of one, that is longer than lines of text are."""
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"{name}:{number} has more than {LONGEST_LINE:,} bytes; expected lines of text: "
            "this is another kind of file, or its line ends are lost"
        )


def text_lines(path: Path, *, encoding: str = "utf-8") -> Generator[tuple[int, str], None, None]:
    """Line numbers with their text, without line end."""
    for number, raw in raw_lines(path):
        try:
            line = raw.decode(encoding).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number} is not {encoding} text ({error.reason} at byte {error.start}); "
                f"expected {encoding}: convert the file, such as with iconv -f latin1 -t utf-8"
            ) from error
        if "\0" in line:
            raise DataError(f"{path}:{number} holds a NUL character; expected {encoding} text")
        yield number, line


def table_rows(
    path: Path,
    columns: int,
    *,
    separator: str = "\t",
    header: str | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Rows of an unquoted table with at least `columns` columns; empty lines are passed over.

    Args:
        columns: Columns a row must have; more are kept.
        header: What the first line starts with; that line is not a row.
    """
    for number, line in text_lines(path):
        if header is not None and number == 1:
            if not line.startswith(header):
                raise DataError(f"{path}:1 starts with {line[:40]!r}; expected {header!r}")
            continue
        if not line.strip():
            continue
        row = line.split(separator)
        if len(row) < columns:
            raise DataError(
                f"{path}:{number} has {counted(len(row), 'column')}, expected {columns} separated "
                "by "
                f"{separator!r}: {line[:80]!r}"
            )
        yield number, row


def aligned_lines(first: Path, second: Path) -> Iterator[tuple[int, str, str]]:
    """Lines of two files, side by side."""
    with closing(text_lines(first)) as left, closing(text_lines(second)) as right:
        number = 0
        for number, a in left:
            b = next(right, None)
            if b is None:
                raise DataError(
                    f"{second} ends after line {number - 1}, but {first} goes on; expected as "
                    "many lines in both"
                )
            yield number, a, b[1]
        if next(right, None) is not None:
            raise DataError(
                f"{first} ends after line {number}, but {second} goes on; expected as many lines "
                "in both"
            )


def number_in(
    text: str, place: str, *, low: float = -math.inf, high: float = math.inf, what: str = "a score"
) -> float:
    """A finite number within [low, high]."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not low <= value <= high:
        within = "" if math.isinf(high) else f" from {low:g} to {high:g}"
        raise DataError(f"{place} has {text.strip()[:40]!r} where {what}{within} was expected")
    return value
