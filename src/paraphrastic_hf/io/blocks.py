"""Reads the input of all commands: lines of files, packed or not, or of standard input (`-`)."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import (
    READ_ERRORS,
    checked_start,
    ends_in_cr,
    open_lines,
    refuse_long_line,
)

BLOCK = 16384
MOST_BYTES = 2**23  # read at a time
SHOWN = 5  # line numbers of each kind in a message
BLANK, NO_TEXT = "blank", "damaged (invalid UTF-8 or NUL)"


class Remarks:
    """Counts of blank and damaged lines, and the first few line numbers."""

    def __init__(self, name: str, *, refuse: bool = False) -> None:
        self.name, self.refuse = name, refuse
        self.counts: dict[str, int] = {}
        self.first: dict[str, list[int]] = {}

    def add(self, kind: str, number: int) -> None:
        """Count a line of the kind `BLANK` or `NO_TEXT`, or raise an error if `refuse` is set."""
        if self.refuse:
            raise DataError(f"{self.name}:{number} is {kind}. Fix it, or use --bad-lines keep")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        shown = self.first.setdefault(kind, [])
        if len(shown) < SHOWN:
            shown.append(number)

    def tell(self) -> None:
        if not self.counts:
            return
        from tqdm.auto import tqdm  # its `write` does not break progress bars

        found = []
        for kind, count in self.counts.items():
            lines = ", ".join(map(str, self.first[kind])) + ", ..." * (count > SHOWN)
            found.append(f"{count:,} {'line is' if count == 1 else 'lines are'} {kind} ({lines})")
        tqdm.write(f"{self.name}: {'; '.join(found)}", file=sys.stderr)


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
    stream: contextlib.AbstractContextManager[IO[bytes]]
    stream = contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open_lines(Path(path))
    name = shown_input(path)
    remarks = Remarks(name, refuse=bad_lines == "refuse")
    with stream as lines:
        number = 0
        read = cast(Any, lines).read1 if as_they_come and path == "-" else lines.read
        try:
            for found in _in_pieces(read, name):
                for start in range(0, len(found), size):
                    block = found[start : start + size]
                    yield _texts(block, number, remarks)
                    number += len(block)
        except READ_ERRORS as error:
            raise DataError(f"{path} is damaged after line {number}: {error}") from error
    remarks.tell()


def _in_pieces(read: Callable[[int], bytes], name: str) -> Iterator[list[bytes]]:
    """Yield the complete lines after each read, without line ends. A line that is too long raises
    an error before it is read completely.
    """
    number, rest = 1, bytearray()  # of the incomplete line
    is_first, is_mac = True, False
    while chunk := read(MOST_BYTES):
        if is_first:
            is_first, chunk = False, checked_start(chunk, name)
            is_mac = ends_in_cr(chunk)
        if is_mac:
            if b"\n" in chunk:
                raise DataError(f"{name} mixes CR and LF. Convert it: tr '\\r' '\\n' < OLD > NEW")
            chunk = chunk.replace(b"\r", b"\n")
        first, *others = chunk.split(b"\n")
        rest += first
        refuse_long_line(rest, name, number)
        if others:
            found = [bytes(rest), *others[:-1]]
            rest = bytearray(others[-1])
            number += len(found)
            yield found
    if rest:
        yield [bytes(rest)]


def valid_texts(texts: Sequence[str], name: str, *, bad_lines: str = "keep") -> list[str]:
    """Check texts from a command line like lines. Lone surrogates become U+FFFD."""
    remarks = Remarks(name, refuse=bad_lines == "refuse")
    raw = [text.encode("utf-8", "surrogateescape") for text in texts]
    valid = _texts(raw, 0, remarks)
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
        elif not is_text and (b"\0" in line or not _is_utf8(line)):
            remarks.add(NO_TEXT, before + place + 1)
            texts[place] = text.replace("\0", "\ufffd")
    return texts


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
