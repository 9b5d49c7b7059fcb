"""Input and output of the commands: checks of files, tables of pairs, atomic output files."""

import argparse
import contextlib
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.arrow import blank_texts, is_arrow_file, text_blocks
from paraphrastic_hf.io.files import naming, one_line, output_file, replacing
from paraphrastic_hf.io.lines import (
    BLANK,
    BLOCK,
    PACKED,
    Remarks,
    is_blank,
    line_remarks,
    read_blocks,
    refuse_table,
    shown_input,
)
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.pairs import (
    FIRST_ROWS,
    Layout,
    Wanted,
    find_layout,
    has_named_columns,
    open_table,
    separator_of,
)

Run = TypeVar("Run", bound=Callable[[argparse.Namespace], Any])


def add_bad_lines(parser: Parser, blank: str = "") -> None:
    """Add `--bad-lines`. `blank` is help about blank lines, such as `A blank line scores nan. `."""
    parser.option(
        "--bad-lines",
        "blank lines and invalid UTF-8: keep reports them and replaces invalid bytes by U+FFFD, "
        f"refuse fails at the first. {blank}(default: keep)",
        default="keep",
        choices=("keep", "refuse"),
    )


def check_inputs(*paths: str, tables: bool = False) -> None:
    """Raise an error for input files that do not exist, or several inputs from standard input."""
    if paths.count("-") > 1:
        raise DataError("Only one input can be - (standard input). Give files for the others")
    for path in paths:
        if path == "-":
            continue
        if not Path(path).exists():
            raise DataError(f"{path} does not exist")
        if not tables or not has_named_columns(Path(path)):
            if Path(path).is_dir():
                raise DataError(f"{path} is a folder. Give a file")
            refuse_table(path)


class PairLine(NamedTuple):
    """A row of a table of pairs."""

    line: str  # without its line end. For other tables than TSV, the texts with a tab between them
    texts: Sequence[str] = ("", "")  # empty if the row has no texts
    wrong: str | None = None  # reason if the row is not a pair
    is_header: bool = False
    place: str = ""  # file and line, or the number of the row, for messages


def pair_blocks(
    path: str, size: int = BLOCK, *, bad_lines: str = "keep"
) -> Iterator[list[PairLine]]:
    """Read the pairs of a table, or `-` for TSV on standard input, in blocks of `PairLine` rows.

    Standard error shows malformed rows, which raise an error if `bad_lines` is `refuse`. For more
    than two columns it also shows which columns are read.
    """
    remarks = Remarks(shown_input(path), fix="pass --bad-lines keep" * (bad_lines == "refuse"))
    if path == "-" or not has_named_columns(Path(path)):
        blocks: Iterable[list[PairLine]] = _pairs_of_lines(path, size, bad_lines)
    else:
        layout, rows = open_table(Path(path), Wanted())
        _tell_layout(remarks.name, layout)
        pairs = (
            PairLine("\t", wrong=row, place=place)
            if isinstance(row, str)
            else PairLine("\t".join(map(one_line, row)), row)
            for place, row in rows
        )
        blocks = _in_blocks(pairs, size)
    for block in blocks:
        for pair in block:
            if pair.wrong is None:
                remarks.good += not pair.is_header
            else:
                remarks.add(pair.wrong, pair.place)
        remarks.check()
        yield block
    remarks.tell()


def _pairs_of_lines(path: str, size: int, bad_lines: str) -> Iterator[list[PairLine]]:
    layout: Layout | None = None
    name, number = shown_input(path), 0
    for block in read_blocks(path, size, bad_lines=bad_lines):
        is_first = layout is None
        if layout is None:
            separator = separator_of(next((line for line in block if not is_blank(line)), ""))
        rows = [[] if is_blank(line) else line.split(separator) for line in block]
        if layout is None:
            first = list(islice(filter(None, rows), FIRST_ROWS))
            layout = find_layout(first, name, Wanted())
            _tell_layout(name, layout)
        pairs = []
        for line, row in zip(block, rows, strict=True):
            number += 1
            if not row:
                pairs.append(PairLine(line))
            elif is_first and layout.has_header:
                is_first = False
                pairs.append(PairLine(line, is_header=True))
            else:
                cells = layout.cells(row)
                if isinstance(cells, str):
                    pairs.append(PairLine(line, wrong=cells, place=f"{name}:{number}"))
                else:
                    pairs.append(PairLine(line, cells))
        yield pairs


def _tell_layout(name: str, layout: Layout) -> None:
    if layout.taken and (layout.has_header or len(layout.names) > 2):
        print(f"{name}: {layout.describe()}", file=sys.stderr)


def _in_blocks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while block := list(islice(items, size)):
        yield block


def column_blocks(
    path: str, column: str, size: int = BLOCK, *, bad_lines: str = "keep"
) -> Iterator[Any]:
    """Read the texts of a column of a table in blocks: lists, or arrays of pyarrow for its formats.

    `column` is a name, or a number from 1. An unreadable row becomes an empty text, or an error if
    `bad_lines` is `refuse`.
    """
    remarks, number = line_remarks(path, bad_lines), 0
    if is_arrow_file(Path(path)):
        for arrow in text_blocks(Path(path), column):
            for place in blank_texts(arrow):
                remarks.add(BLANK, number + place + 1)
            number += len(arrow)
            yield arrow
        remarks.tell()
        return
    _, rows = open_table(Path(path), Wanted((column,)))
    for block in _in_blocks(rows, size):
        texts = []
        for _, row in block:
            number += 1
            texts.append("" if isinstance(row, str) else row[0])
            if isinstance(row, str):
                remarks.add(row, number)
            elif is_blank(row[0]):
                remarks.add(BLANK, number)
        yield texts
    remarks.tell()


def tell_if_empty(path: str, lines: int, what: str) -> None:
    """Say on standard error if an input has no lines. `what` is the output that is not written."""
    if not lines:
        print(f"{shown_input(path)} is empty: no {what} written", file=sys.stderr)


def check_output(path: str, *, is_folder: bool = False) -> None:
    """Raise an error if an output file or folder cannot be written. Create nothing."""
    if is_folder and path == "-":
        raise DataError("--output must be a folder here, got - (standard output)")
    if is_stream(path):
        return
    if not is_folder and (not path or Path(path).is_dir()):
        raise DataError(f"--output must be a file, got {path!r}")
    folder = Path(path).absolute()
    folder = folder if is_folder else folder.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise DataError(f"Cannot write {path}: {folder} is not a folder. Choose another --output")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"Cannot write {path}: {folder} is read-only. Choose another --output")


def holds_output(doing: str) -> Callable[[Run], Run]:
    """Decorate a command so that it locks the folder of `--output`, if given, while it runs.

    `doing` is its activity, such as `evaluating`, for the error message of a second process.
    """

    def hold(run: Run) -> Run:
        @functools.wraps(run)
        def held(arguments: argparse.Namespace) -> Any:
            if not arguments.output:
                return run(arguments)
            check_output(arguments.output, is_folder=True)
            with locked(Path(arguments.output), doing=doing):
                return run(arguments)

        return held  # type: ignore[return-value]

    return hold


def is_stream(path: str) -> bool:
    """Return whether `path` is standard output (`-`), a device or a pipe."""
    there = Path(path)
    return path == "-" or (there.exists() and not there.is_file() and not there.is_dir())


@contextmanager
def open_output(path: str) -> Iterator[IO[str]]:
    """Open a text file for writing. It appears only when complete, and its folder is created if
    missing.

    Files with the ending .gz, .xz or .bz2 are compressed. `-` is standard output.
    """
    if path == "-":
        if sys.stdout is None:
            raise DataError("Standard output is closed. Give a file with --output")
        yield sys.stdout
        sys.stdout.flush()
        return
    place: AbstractContextManager[Path] = contextlib.nullcontext(Path(path))
    with naming(path):
        if not is_stream(path):
            place = replacing(output_file(path), is_shared=True)
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        opened = PACKED.get(Path(path).suffix, open)
        with place as target, opened(target, "wt", encoding="utf-8") as file:
            yield file


def add_json_option(parser: Parser, what: str) -> None:
    """Add `--json`. `what` describes the printed value, such as `an object per pair`."""
    parser.flag("--json", f"print JSON: {what}")


def dump_json(value: Any, output: IO[str], *, indent: int | None = 2) -> None:
    """Write a value as JSON, with null for NaN and infinity."""
    text = json.dumps(_finite(value), indent=indent, allow_nan=False, ensure_ascii=False)
    # file names with invalid UTF-8 contain surrogates, which JSON escapes in the same way
    output.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
