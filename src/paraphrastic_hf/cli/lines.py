"""Text in and out of commands: files, .gz, .xz and `-`, a block of lines at a time."""

from __future__ import annotations

import codecs
import contextlib
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from paraphrastic_hf.data.lines import open_lines
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.files import output_file, replacing

BLOCK = 16384
MOST_BYTES = 2**23  # read at a time, and a line more


def read_blocks(path: str, size: int = BLOCK) -> Iterator[list[str]]:
    """Lines of a file or of standard input, at most `size` at a time, and fewer if they are long.

    Lines end at a newline only; a byte order mark at the start is no text. A byte that is not UTF-8
    becomes U+FFFD, so that every line keeps its place.

    Raises:
        DataError: The file cannot be opened or is damaged.
    """
    stream: contextlib.AbstractContextManager[IO[bytes]]
    stream = contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open_lines(Path(path))
    with stream as lines:
        number = 0
        try:
            while found := lines.readlines(MOST_BYTES):
                for start in range(0, len(found), size):
                    block = found[start : start + size]
                    if not number:
                        block[0] = block[0].removeprefix(codecs.BOM_UTF8)
                    yield [line.decode("utf-8", "replace").rstrip("\r\n") for line in block]
                    number += len(block)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise DataError(f"{path} is damaged after line {number}: {error}") from error


def is_stream(path: str) -> bool:
    """Whether text goes there as it comes: `-`, a device or a pipe."""
    there = Path(path)
    return path == "-" or (there.exists() and not there.is_file() and not there.is_dir())


@contextmanager
def open_output(path: str) -> Iterator[IO[str]]:
    """A text file, complete or not at all; standard output for `-`; a device or pipe as it is.

    Raises:
        DataError: It is a folder, or cannot be written.
    """
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    place = contextlib.nullcontext(Path(path)) if is_stream(path) else replacing(output_file(path))
    try:
        with place as target, target.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise DataError(f"cannot write {path}: {error}") from error
