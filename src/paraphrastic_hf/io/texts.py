"""Every text of a file or folder, whatever its layout: the cells of tables, lines, JSON strings."""

import csv
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import visible_files
from paraphrastic_hf.io.lines import raw_lines, table_kind
from paraphrastic_hf.io.pairs import parquet_rows

logger = logging.getLogger(__name__)
ROWS = 1 << 16  # of parquet, read at a time


def every_text(path: Path) -> Iterator[str]:
    """Yield every text of a file, or of all files in a folder and its subfolders.

    Texts are the strings of parquet and JSON files, the cells of CSV and TSV files, and the lines
    of other files. Invalid UTF-8 becomes U+FFFD. A file in a folder that is not text, such as an
    archive or XML, is skipped with a warning.
    """
    if not path.is_dir():
        yield from _texts(path)
        return
    for file in visible_files(path, "**/*"):
        try:
            yield from _texts(file)
        except DataError as error:
            logger.warning("skipped: %s", error)


def _texts(path: Path) -> Iterator[str]:
    if path.suffix == ".parquet":
        # strings, also in lists, structs and dictionaries
        for row in parquet_rows([path], lambda field: "string" in str(field.type), ROWS):
            yield from _strings(row)
        return
    kind = table_kind(path)
    if kind == "JSON":
        yield from _json(path)
        return
    for _, raw in raw_lines(path):
        line = raw.decode("utf-8", "replace").rstrip("\r")
        yield from _cells(line) if kind == "CSV" and "\t" not in line else line.split("\t")


def _cells(line: str) -> list[str]:
    """Return the cells of a line of CSV. A cell with line ends is several cells."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a long cell, or a NUL
        return [line]


def _json(path: Path) -> Iterator[str]:
    lines = [raw for _, raw in raw_lines(path)]
    try:
        try:
            values = [json.loads(raw) for raw in lines if raw.strip()]
        except ValueError:  # one value over several lines
            values = [json.loads(b"\n".join(lines))]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    yield from _strings(values)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.encode("utf-8", "replace").decode()
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
