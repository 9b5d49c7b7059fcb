"""Numbered lines of text files.

Lines end in LF or CRLF. Other CR characters are text, except in a file without LF, where each CR
ends a line. `text_lines` raises an error for a bad line, `io/pairs.py` skips it, `io/blocks.py`
keeps it.
"""

import bz2
import codecs
import gzip
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, cast

from paraphrastic_hf.errors import DataError, counted

OTHER_ENCODINGS = {  # UTF-32 first: its byte order mark starts with the one of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
LONGEST_LINE = 1 << 26  # bytes; longer lines are not text, or lack line ends
READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)

ENDING = "rename it to end in "
MARKUP = (  # XML and TMX, HTML, and the SGML of WMT and NIST
    rb"(?i)(\xef\xbb\xbf)?\s*<(\?xml |!doctype |"
    rb"(tmx|html|(src|ref|tst|data)set|mteval|doc)( [^>]*)?>)"
)
EXTRACT = "write its texts to a file, one per line"
COLUMN = f"{EXTRACT}, or pass it to `encode` with --column"
OTHER_FILES = {  # by the first bytes: the kind of file, and advice
    rb"PK\x03\x04": ("a zip archive", "unpack it first"),
    rb"PAR1\x15": ("a parquet file", COLUMN),
    rb"ARROW1\0\0": ("an Arrow file", COLUMN),
    rb"\x93NUMPY": ("a numpy array", "pass the text from which it was made"),
    rb"[\s\S]{5}\0\0\0\{\"": ("a safetensors weights file", "pass a text file"),
    rb"\x28\xb5\x2f\xfd": ("compressed by zstd", "unpack it first with zstd -d"),
    rb"BZh[1-9]1AY&SY": ("compressed by bzip2", ENDING + ".bz2"),
    rb"\xfd7zXZ\0": ("compressed by xz", ENDING + ".xz"),
    rb"\x1f\x8b\x08": ("compressed by gzip", ENDING + ".gz"),
    MARKUP: ("markup (XML, HTML, SGML or TMX)", EXTRACT),
}
PACKED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
TABLES = {".csv": "CSV", ".jsonl": "JSON", ".json": "JSON"}


def open_lines(path: Path) -> BinaryIO:
    """Open a file for reading bytes. Files with the ending .gz, .xz or .bz2 are unpacked."""
    try:
        return cast(BinaryIO, PACKED.get(path.suffix, open)(path, "rb"))
    except OSError as error:
        raise DataError(f"Cannot open {path}: {error.strerror or error}") from error


def table_kind(path: Path) -> str | None:
    """Return `CSV` or `JSON` by the ending of a file name, before .gz, .xz or .bz2. Else None."""
    name = path.with_suffix("") if path.suffix in PACKED else path
    return TABLES.get(name.suffix.lower())


def refuse_table(path: str) -> None:
    """Raise an error for a CSV or JSON file, in place of lines of text."""
    kind = table_kind(Path(path))
    if kind is not None:
        raise DataError(
            f"{path} is a {kind} file, but this command reads one text per line. Write its "
            "texts to a text file, or pass them on standard input (-). `encode` reads tables "
            "with --column"
        )


def checked_start(head: bytes, name: object) -> bytes:
    """Return the first bytes of a file without a byte order mark, if they are UTF-8 text."""
    marked = (each for mark, each in OTHER_ENCODINGS.items() if head.startswith(mark))
    encoding = next(marked, None)
    if encoding is None:
        refuse_other_files(head, name)
        halves = head[::2].count(0), head[1::2].count(0)  # NULs of UTF-16 without a mark
        if max(halves) * 3 > len(head) and min(halves) * 9 < len(head):
            encoding = "UTF-16LE" if halves[1] > halves[0] else "UTF-16BE"
    if encoding is not None:
        code = encoding.lower()
        raise DataError(f"{name} is {encoding}. Convert it: iconv -f {code} -t utf-8 OLD > NEW")
    return head.removeprefix(codecs.BOM_UTF8)


def ends_in_cr(head: bytes) -> bool:
    """Return whether lines end in CR, as in classic Mac files and Excel's "CSV (Macintosh)"."""
    return b"\n" not in head and b"\r" in head.rstrip(b"\r")


def refuse_other_files(head: bytes, name: object) -> None:
    for start, (what, advice) in OTHER_FILES.items():
        if re.match(start, head):
            raise DataError(f"{name} is {what}. Give lines of text (also .gz, .xz, .bz2): {advice}")


def raw_lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """Yield the number of each line, from 1, and its bytes, including the line end."""
    with open_lines(path) as lines:
        yield from numbered(lines, path)


def numbered(lines: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers and bytes of an open file, as `raw_lines`. `path` is for messages."""
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
            if ends_in_cr(raw):  # without LF, `raw` is the whole file
                yield from enumerate(raw.replace(b"\r", b"\n").splitlines(keepends=True), 1)
                return
        yield number, raw


def refuse_long_line(line: bytes | bytearray, name: object, number: int) -> None:
    """Raise an error for a line above `LONGEST_LINE` bytes, complete or not."""
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"{name}:{number} has more than {LONGEST_LINE:,} bytes. Expected lines of text. It "
            "may be another kind of file, or lack line ends"
        )


def text_lines(path: Path, *, encoding: str = "utf-8") -> Generator[tuple[int, str], None, None]:
    """Yield the number of each line, from 1, and its text without the line end."""
    for number, raw in raw_lines(path):
        try:
            line = raw.decode(encoding).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number} is not {encoding} text ({error.reason} at byte {error.start}). "
                "Convert the file, for example with iconv -f latin1 -t utf-8"
            ) from error
        if "\0" in line:
            raise DataError(f"{path}:{number} has a NUL character. Expected {encoding} text")
        yield number, line


def table_rows(
    path: Path, columns: int, *, separator: str = "\t", header: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of an unquoted table, without empty lines.

    With `header`, the first line must start with it and is skipped.
    """
    for number, line in text_lines(path):
        if header is not None and number == 1:
            if not line.startswith(header):
                raise DataError(f"{path}:1 starts with {line[:40]!r}. Expected {header!r}")
            continue
        if not line.strip():
            continue
        row = line.split(separator)
        if len(row) < columns:
            raise DataError(
                f"{path}:{number} has {counted(len(row), 'column')}, expected {columns} separated "
                f"by {separator!r}: {line[:80]!r}"
            )
        yield number, row


def aligned_lines(
    first: Path, second: Path, read: Callable[[Path], Generator[tuple[int, Any]]] = text_lines
) -> Iterator[tuple[int, Any, Any]]:
    """Yield pairs of lines from two files, which must have equally many lines."""
    with closing(read(first)) as left, closing(read(second)) as right:
        number = 0
        for number, a in left:
            b = next(right, None)
            if b is None:
                raise DataError(f"{second} has {counted(number - 1, 'line')}, but {first} has more")
            yield number, a, b[1]
        if next(right, None) is not None:
            raise DataError(f"{first} has {counted(number, 'line')}, but {second} has more")


def number_in(
    text: str, place: str, *, low: float = -math.inf, high: float = math.inf, what: str = "a score"
) -> float:
    """Parse a finite number within [low, high]. `place` and `what` are for messages."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not low <= value <= high:
        within = "" if math.isinf(high) else f" from {low:g} to {high:g}"
        raise DataError(f"{place} has {text.strip()[:40]!r}. Expected {what}{within}")
    return value
