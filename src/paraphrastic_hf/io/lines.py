"""Lines of text files, packed or not, and of standard input (`-`).

Lines end in LF or CRLF. Other CR characters are text, except in a file without LF, where each CR
ends a line. `text_lines` raises an error for a bad line, `iterate_lines` and `io/pairs.py` skip it,
`read_blocks` keeps it.
"""

import bz2
import codecs
import gzip
import lzma
import math
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from paraphrastic_hf.errors import DataError, counted

OTHER_ENCODINGS = {  # UTF-32 first: its byte order mark starts with the one of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
BLOCK = 16384  # lines
MOST_BYTES = 2**23  # read at a time, for blocks
FEW_BYTES = 2**18  # read at a time, for single lines
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
PLACES_SHOWN = 5  # of each reason in a message
MAX_BAD_ROWS = 0.2  # default share of bad rows in a source


class Harmless(str):
    """Reason to skip a row. Rows skipped for this reason do not count toward `max_bad_rows`."""


BLANK = Harmless("without text")
NUL, NOT_UTF8 = "with a NUL character", "with invalid UTF-8"


class Remarks:
    """Counts of bad rows or lines of an input by reason, with the first few places.

    With `fix`, which is advice, the first bad row raises an error.
    """

    def __init__(self, name: str, *, fix: str = "", unit: str = "row") -> None:
        self.name, self.fix, self.unit = name, fix, unit
        self.good = 0
        self.bad: Counter[str] = Counter()
        self.places: dict[str, list[str]] = {}

    def add(self, reason: str, place: str | int) -> None:
        """Count a row. Its place is a text, or the number of a line of the input."""
        if self.fix:
            named = f"{self.name}:{place}" if isinstance(place, int) else place
            raise DataError(f"{named} is a {self.unit} {reason}. Correct it, or {self.fix}")
        self.bad[reason] += 1
        shown = self.places.setdefault(reason, [])
        if len(shown) < PLACES_SHOWN:
            shown.append(str(place))

    def describe(self) -> str:
        """Return text such as `3 rows: 2 with an empty side (a.tsv:4, a.tsv:9), 1 ...`."""
        parts = []
        for reason, count in self.bad.items():
            places = ", ".join(self.places[reason]) + ", ..." * (count > PLACES_SHOWN)
            parts.append(f"{count:,} {reason} ({places})")
        return f"{counted(self.bad.total(), self.unit)}: {', '.join(parts)}"

    def tell(self) -> None:
        """Print the counts, if any, on standard error."""
        if self.bad:
            from tqdm.auto import tqdm  # its `write` does not break progress bars

            tqdm.write(f"{self.name}: {self.describe()}", file=sys.stderr)

    def check(self, most: float | None = None) -> None:
        """Raise an error if the share of bad rows exceeds `most`. One bad row is always allowed."""
        bad = sum(n for reason, n in self.bad.items() if not isinstance(reason, Harmless))
        share = MAX_BAD_ROWS if most is None else most
        if (bad > 1 or not self.good) and bad > share * (self.good + bad):
            setting = (
                "" if most is None else ", or increase max_bad_rows (recipe key: data.max_bad_rows)"
            )
            raise DataError(
                f"{self.name}: {bad:,} of {self.good + bad:,} rows are malformed, more than the "
                f"allowed {share:.0%} ({self.describe()}). Correct them{setting}"
            )


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
        for start, (what, advice) in OTHER_FILES.items():
            if re.match(start, head):
                raise DataError(
                    f"{name} is {what}. Give lines of text (also .gz, .xz, .bz2): {advice}"
                )
        halves = head[::2].count(0), head[1::2].count(0)  # NULs of UTF-16 without a mark
        if max(halves) * 3 > len(head) and min(halves) * 9 < len(head):
            encoding = "UTF-16LE" if halves[1] > halves[0] else "UTF-16BE"
    if encoding is not None:
        code = encoding.lower()
        raise DataError(f"{name} is {encoding}. Convert it: iconv -f {code} -t utf-8 OLD > NEW")
    return head.removeprefix(codecs.BOM_UTF8)


def _in_pieces(read: Callable[[int], bytes], name: object, most: int) -> Iterator[list[bytes]]:
    """Yield the complete lines after each read of at most `most` bytes, without LF.

    A line that is too long raises an error before it is read completely.
    """
    number, rest = 1, bytearray()  # of the incomplete line
    is_first, is_mac = True, False
    while True:
        try:
            chunk = _through_first_lf(read, most) if is_first else read(most)
        except READ_ERRORS as error:
            raise DataError(f"{name} is damaged after line {number - 1}: {error}") from error
        if not chunk:
            break
        if is_first:
            is_first, chunk = False, checked_start(chunk, name)
            is_mac = b"\n" not in chunk and b"\r" in chunk.rstrip(b"\r")
        if is_mac:  # classic Mac files and Excel's "CSV (Macintosh)"
            if b"\n" in chunk:
                raise DataError(f"{name} mixes CR and LF. Convert it: tr '\\r' '\\n' < OLD > NEW")
            chunk = chunk.replace(b"\r", b"\n")
        first, *others = chunk.split(b"\n")
        rest += first
        if len(rest) > LONGEST_LINE:
            raise DataError(
                f"{name}:{number} has more than {LONGEST_LINE:,} bytes. Expected lines of text. It "
                "may be another kind of file, or lack line ends"
            )
        if others:
            found = [bytes(rest), *others[:-1]]
            rest = bytearray(others[-1])
            number += len(found)
            yield found
    if rest:
        yield [bytes(rest)]


def _through_first_lf(read: Callable[[int], bytes], most: int) -> bytes:
    """Read up to the first LF, the end, or the longest line. CR before an LF is text."""
    found = bytearray()
    while len(found) <= LONGEST_LINE and (piece := read(most)):
        found += piece
        if b"\n" in piece:
            break
    return bytes(found)


def raw_lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """Yield the number of each line, from 1, and its bytes without LF."""
    with open_lines(path) as file:
        yield from numbered(file, path)


def numbered(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers and bytes of an open file, as `raw_lines`. `path` is for messages."""
    # `read1` keeps what precedes the damage in a packed file
    return enumerate(chain.from_iterable(_in_pieces(cast(Any, file).read1, path, FEW_BYTES)), 1)


def decoded(raw: bytes) -> tuple[str, str | None]:
    """Return the text of a line without CR, or an empty text and the reason why it is bad."""
    if b"\0" in raw:
        return "", NUL
    try:
        return raw.decode("utf-8").rstrip("\r"), None
    except UnicodeDecodeError:
        return "", NOT_UTF8


def text_lines(path: Path, *, encoding: str = "utf-8") -> Generator[tuple[int, str], None, None]:
    """Yield the number of each line, from 1, and its text without the line end."""
    for number, raw in raw_lines(path):
        try:
            text = raw.decode(encoding).rstrip("\r")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}:{number} is not {encoding} text ({error.reason} at byte {error.start}). "
                "Convert the file, for example with iconv -f latin1 -t utf-8"
            ) from error
        if "\0" in text:
            raise DataError(f"{path}:{number} has a NUL character. Expected {encoding} text")
        yield number, text


def iterate_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers with their text, skipping lines with invalid UTF-8 or NUL."""
    for number, raw in raw_lines(path):
        text, wrong = decoded(raw)
        if wrong is None:
            yield number, text


def shown_input(path: str) -> str:
    return "standard input" if path == "-" else path


def read_blocks(
    path: str, size: int = BLOCK, *, bad_lines: str = "keep", as_they_come: bool = False
) -> Iterator[list[str]]:
    """Yield the lines of a file, or of standard input (`-`), in blocks of at most `size` lines.

    Blank lines are kept. NUL and invalid UTF-8 become U+FFFD. At the end, blank and damaged lines
    are counted on standard error. If `bad_lines` is `refuse`, they raise an error instead. With
    `as_they_come`, lines of standard input are yielded as soon as they arrive, in small blocks.
    """
    if path == "-" and sys.stdin is None:
        raise DataError("Standard input is closed. Give a file")
    stream: Any = nullcontext(sys.stdin.buffer) if path == "-" else open_lines(Path(path))
    remarks = line_remarks(shown_input(path), bad_lines)
    number = 0
    with stream as file:
        read = file.read1 if as_they_come and path == "-" else file.read
        for found in _in_pieces(read, remarks.name, MOST_BYTES):
            for start in range(0, len(found), size):
                block = found[start : start + size]
                yield _texts(block, number, remarks)
                number += len(block)
    remarks.tell()


def line_remarks(name: str, bad_lines: str) -> Remarks:
    """Return the remarks for the option `--bad-lines`: `keep` or `refuse`."""
    return Remarks(name, fix="use --bad-lines keep" * (bad_lines == "refuse"), unit="line")


def valid_texts(texts: Sequence[str], name: str, *, bad_lines: str) -> list[str]:
    """Check texts from a command line like lines. Lone surrogates become U+FFFD."""
    remarks = line_remarks(name, bad_lines)
    valid = _texts([text.encode("utf-8", "surrogateescape") for text in texts], 0, remarks)
    remarks.tell()
    return valid


def is_blank(line: str) -> bool:
    return not line or line.isspace()


def _texts(block: Sequence[bytes], before: int, remarks: Remarks) -> list[str]:
    """Decode lines. `before` is the number of earlier lines of the input."""
    try:
        texts = [line.decode("utf-8").rstrip("\r\n") for line in block]
        is_text = b"\0" not in b"".join(block)
    except UnicodeDecodeError:
        texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in block]
        is_text = False
    if is_text and all(texts) and not any(map(str.isspace, texts)):
        return texts
    for place, (line, text) in enumerate(zip(block, texts, strict=True)):
        if is_blank(text):
            remarks.add(BLANK, before + place + 1)
        elif not is_text and decoded(line)[1]:
            remarks.add("with invalid UTF-8 or NUL", before + place + 1)
            texts[place] = text.replace("\0", "\ufffd")
    return texts


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
