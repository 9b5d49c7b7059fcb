"""Rows of tables whose columns have names: CSV and JSON, a value a line or a list of them.

What is done with a bad row is said in `pairs.py`, whose form the rows have.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from paraphrastic_hf.data.lines import BOM, LONGEST_LINE, raw_lines, table_kind
from paraphrastic_hf.errors import DataError

logger = logging.getLogger(__name__)

NAMES = "sentence1 sentence2, text1 text2, question1 question2, phrase1 phrase2, source target, "
NAMES += "src tgt, reference translation, anchor positive, premise hypothesis"
HEADERS = {frozenset(names.split()) for names in NAMES.split(",")}  # of files of pairs, line 1
WORDS = 6  # of a column's name that is text instead
BLANK, NO_OBJECT = "without two columns", "that is no JSON object"
Found = tuple[str, Mapping[str, Any] | str]  # the place of a row, and the row or what is wrong


def names_columns(sides: Sequence[str]) -> bool:
    """Whether a first row has names of columns (`HEADERS`) where its two texts should be."""
    return frozenset(map(_plain, sides[:2])) in HEADERS


def refuse_texts_elsewhere(place: str, sides: Sequence[str]) -> None:
    """Refuse a first row that names other columns than the first two as the texts (`HEADERS`).

    Args:
        place: Where the row is.
        sides: Its columns.

    Raises:
        DataError: It does.
    """
    names = list(map(_plain, sides))
    header = next((header for header in HEADERS if header <= set(names)), None)
    if header is None or names_columns(sides):
        return
    first, second = sorted(names.index(name) + 1 for name in header)
    raise DataError(
        f"{place} names its columns, and the texts are in {first} and {second}, not in 1 and 2: "
        f"keep these two alone (cut -f{first},{second}), or, of a recipe's source, set columns: "
        f'["{first}", "{second}"]'
    )


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def rows_of_table(
    path: Path, columns: Sequence[str] | None, beside: Sequence[str] = ()
) -> Iterator[tuple[str, list[str] | str]]:
    """`(place, the sides)` or `(place, what is wrong)` for every row of a CSV or JSON file.

    Args:
        path: The file, whose name ends in .csv, .jsonl or .json, packed or not. A CSV file begins
            with the names of its columns.
        columns: The two columns of text; if absent, those that pairs usually have (`HEADERS`), or
            the first two whose value in the first row is text and no number.
        beside: Further columns, which follow the two texts, as text.

    Raises:
        DataError: The file is missing or damaged, has no such columns, or a CSV file has text in
            the place of their names.
    """
    found = _csv_rows(path) if table_kind(path) == "CSV" else _json_rows(path)
    before: list[Found] = []
    first: Mapping[str, Any] = {}
    for item in found:
        before.append(item)
        if not isinstance(item[1], str):
            first = item[1]
            break
    names = list(columns or _usual_columns(path, first))
    if first and not columns:
        logger.info("%s: the texts of a pair are in %s and %s", path.name, *names)
    missing = [name for name in (*names[:2], *beside) if name not in first]
    if missing and first:
        raise DataError(
            f"{path.name} has no column {missing[0]!r}; it has {', '.join(map(str, first))}"
        )
    for place, row in chain(before, found):
        if isinstance(row, str):
            yield place, row
            continue
        sides = ["" if row.get(name) is None else row[name] for name in names[:2]]
        others = ["" if row.get(name) is None else str(row[name]) for name in beside]
        is_text = all(isinstance(side, str) for side in sides)
        yield place, [*sides, *others] if is_text else "whose sides are no texts"


def mappings(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """The rows of a dataset, which have names of columns.

    Args:
        rows: What a caller gave as a dataset.

    Raises:
        DataError: A row is something else.
    """
    for row in rows:
        if not isinstance(row, Mapping):
            shown = repr(row)[:60]
            raise DataError(
                "rows of a dataset are mappings, such as {'sentence1': 'A cat.', 'sentence2': 'The "
                f"cat.'}}, got {shown}"
            )
        yield row


def text_columns(holds_text: Mapping[str, bool]) -> tuple[str, str]:
    """The first two columns of a dataset that hold text.

    Args:
        holds_text: For the name of each column, whether it does.

    Raises:
        DataError: Fewer than two do.
    """
    text = [name for name, is_text in holds_text.items() if is_text]
    if len(text) < 2:
        has = f"it has {', '.join(holds_text)}" if holds_text else "and it has no rows"
        raise DataError(f"the dataset needs two columns of text, {has}")
    return text[0], text[1]


def _usual_columns(path: Path, first: Mapping[str, Any]) -> list[str]:
    """The columns that are taken where none are named."""
    for usual in HEADERS:
        known = [name for name in first if _plain(name) in usual]
        if {_plain(name) for name in known} == usual:
            return known[:2]
    texts = [name for name, value in first.items() if isinstance(value, str) and _is_text(value)]
    if first and len(texts) < 2:
        raise DataError(
            f"{path.name} needs two columns of text, it has {', '.join(map(str, first))}"
        )
    if table_kind(path) == "CSV" and texts and all(map(_reads_as_text, texts[:2])):
        raise DataError(
            f"{path.name} begins with text where the names of its columns should be "
            f"({texts[0][:60]!r}): put a row of names before it, such as sentence1 and sentence2; "
            "or, if these are names, set columns of the source"
        )
    return texts[:2]


def _reads_as_text(name: str) -> bool:
    return len(name.split()) >= WORDS or name.endswith(tuple(".!?。？！"))


def _is_text(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return True
    return False


def _csv_rows(path: Path) -> Iterator[Found]:
    csv.field_size_limit(LONGEST_LINE)
    # bytes that are no UTF-8 become surrogates, by which their row is found
    lines = (raw.decode("utf-8", "surrogateescape") for _, raw in raw_lines(path))
    head = next(lines, "").removeprefix(BOM)
    delimiter = next((mark for mark in "\t,;" if mark in head), ",")
    reader = csv.reader(chain([head], lines), delimiter=delimiter)
    names: list[str] = []
    try:
        for row in reader:
            place = f"{path.name}:{reader.line_num}"
            if not names:
                names = [name.strip() for name in row]
            elif len(row) != len(names):
                yield place, f"without {len(names)} columns as in the first row" if row else BLANK
            elif "\0" in "".join(row):
                yield place, "with a NUL character"
            elif not "".join(row).isprintable() and _has_surrogates(row):
                yield place, "not valid UTF-8"
            else:
                yield place, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num} is damaged: {error}") from error


def _has_surrogates(row: Sequence[str]) -> bool:
    return any("\ud800" <= character <= "\udfff" for text in row for character in text)


def _json_rows(path: Path) -> Iterator[Found]:
    """Of a file of values, one a line, or of one list."""
    lines = raw_lines(path)
    _, head = next(lines, (1, b""))
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        try:
            values = json.load(io.BytesIO(head + b"".join(raw for _, raw in lines)))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is damaged: {error}") from error
        for place, value in enumerate(values):
            yield f"{path.name}:{place}", value if isinstance(value, dict) else NO_OBJECT
        return
    for number, raw in chain([(1, head)], lines):
        try:
            value = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            value = None
        yield f"{path.name}:{number}", value if isinstance(value, dict) else NO_OBJECT
