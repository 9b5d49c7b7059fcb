"""Sentence pairs from the files people have: TSV, aligned text, CSV, JSON, `datasets` folders.

A bad row, such as a first line of names of columns, never stops a run: it is counted by reason,
with the place of the first few, and skipped; or it is refused at once, by option.
"""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from paraphrastic_hf.data.lines import BOM, raw_lines, table_kind
from paraphrastic_hf.data.tables import (
    mappings,
    names_columns,
    refuse_texts_elsewhere,
    rows_of_table,
    text_columns,
)
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.text.files import visible_files

logger = logging.getLogger(__name__)

BAD_ROWS = ("skip", "refuse")
PLACES_SHOWN = 5
FIRST_ROWS = 100  # by which the columns of text are known
Pair = tuple[str, str]


@dataclass
class RowReport:
    """What became of the rows of a source."""

    bad: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, place: str) -> None:
        """Count a bad row."""
        self.bad[reason] += 1
        shown = self.places.setdefault(reason, [])
        if len(shown) < PLACES_SHOWN:
            shown.append(place)

    def describe(self) -> str:
        """`3 rows skipped: 2 without two columns (a.tsv:4, a.tsv:9); 1 with an empty side
        (a.tsv:7)`."""
        parts = [
            f"{count:,} {reason} ({', '.join(self.places[reason])})"
            for reason, count in self.bad.items()
        ]
        return f"{counted(self.bad.total(), 'row')} skipped: {'; '.join(parts)}"


def read_pairs(
    path: str | Path,
    *,
    second: str | Path | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> list[Pair]:
    """The good sentence pairs of one source, in file order.

    Args:
        path: The file or folder, as `iterate_rows` takes it.
        second: The text file of the other side, as `iterate_rows` takes it.
        columns: Names of the two columns, as `iterate_rows` takes them.
        **options: Arguments of `clean_pairs`, which say how long and how many pairs may be, and
            what is done with a malformed row.

    Raises:
        DataError: The file is missing or damaged, holds no good pair, or has a bad row and
            `bad_rows` is `refuse`.
    """
    rows = iterate_rows(path, second=second, columns=columns)
    return clean_pairs(rows, name=str(path), **options)


def clean_pairs(
    rows: Iterable[tuple[str, list[str] | str]],
    *,
    name: str,
    max_pairs: int | None = None,
    min_words: int = 1,
    max_words: int | None = None,
    bad_rows: str = "skip",
    seed: int = 1,
    beside: int = 0,
) -> list[Any]:
    """The good pairs among the rows of a source, in order, as tuples of texts.

    Args:
        rows: As `iterate_rows` or `rows_of_dataset` gives them.
        name: Of the source, for messages.
        max_pairs: Keep a random sample of at most this many good pairs.
        min_words: Skip pairs with a side of fewer words (white space).
        max_words: Skip pairs with a side of more words.
        bad_rows: `skip`, with a warning that counts them, or `refuse`.
        seed: Seed of the sample.
        beside: Columns after the two texts that are kept in the tuples, as text.

    Raises:
        DataError: No pair is good, or a row is bad and `bad_rows` is `refuse`.
    """
    report, outside = RowReport(), 0

    def within() -> Iterator[list[str]]:
        nonlocal outside
        for pair in good_rows(rows, name=name, bad_rows=bad_rows, report=report):
            if _within(pair, min_words, max_words):
                yield pair
            else:
                outside += 1

    pairs = _sample(within(), max_pairs, random.Random(seed), 2 + beside)
    if not pairs:
        most = "" if max_words is None else f" or more than max_words ({max_words})"
        reasons = [report.describe()] if report.bad else []
        if outside:
            reasons.append(
                f"{counted(outside, 'pair')} with a side of fewer words than min_words "
                f"({min_words}){most}"
            )
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise DataError(f"{name} holds no usable sentence pair{why}")
    if report.bad:
        logger.warning("%s: %s", name, report.describe())
    return pairs


def iterate_rows(
    path: str | Path,
    *,
    second: str | Path | None = None,
    columns: Sequence[str] | None = None,
    beside: Sequence[str] = (),
) -> Iterator[tuple[str, list[str] | str]]:
    """`(place, the sides)` or `(place, what is wrong)` for every row of a source.

    Args:
        path: A TSV file (two columns; more are ignored, but every row must have as many as the
            first), a text file if `second` is given, a file named .csv, .jsonl or .json
            (`rows_of_table`), a parquet file, or a folder written by `Dataset.save_to_disk`.
            `.gz`, `.xz` and `.bz2` are unpacked on the way.
        second: The text file whose lines are the other side of `path`'s lines.
        columns: Names of the two columns, where columns have names; the first two of text if
            absent.
        beside: Further columns with names, which follow the two texts.

    Raises:
        DataError: The file is missing or damaged, or the two text files differ in length.
    """
    path = Path(path)
    if table_kind(path) and second is None and path.is_file():
        yield from rows_of_table(path, columns, beside)
    elif has_named_columns(path):
        yield from _dataset_rows(path, columns, beside)
    elif second is not None:
        yield from _aligned_rows(path, Path(second))
    else:
        for number, line in _numbered_lines(path):
            sides = line if isinstance(line, str) else line[0].split("\t")
            yield f"{path.name}:{number}", sides


def has_named_columns(path: Path) -> bool:
    """Whether the columns of a source have names: a saved dataset, or a parquet, CSV or JSON
    file."""
    return path.is_dir() or path.suffix == ".parquet" or table_kind(path) is not None


def iterate_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers with their text; lines that are no UTF-8 or hold a NUL are passed over."""
    for number, line in _numbered_lines(path):
        if not isinstance(line, str):
            yield number, line[0]


def rows_of_dataset(
    dataset: Any,
    *,
    name: str = "dataset",
    columns: Sequence[str] | None = None,
    beside: Sequence[str] = (),
) -> Iterator[tuple[str, list[str] | str]]:
    """Rows of a `datasets.Dataset` or any iterable of mappings; None counts as the empty text.

    Args:
        dataset: The rows.
        name: What to call the dataset in messages.
        columns: Its two columns of text; the first two that it has if absent.
        beside: Further columns, which follow the two texts, as text.

    Raises:
        DataError: If there are no two text columns, or not the ones named, or one holds no text.
    """
    if isinstance(dataset, Mapping):
        raise DataError(f"the dataset has splits, {', '.join(map(str, dataset))}; give one of them")
    features = getattr(dataset, "features", None)
    rows = mappings(dataset)
    if columns:
        names = tuple(columns)
    elif features is not None:
        names = text_columns(
            {n: "string" in str(getattr(f, "dtype", "")) for n, f in features.items()}
        )
    else:
        first = list(islice(rows, FIRST_ROWS))
        known = {name: False for row in first for name in row}
        known |= {n: True for row in first for n, v in row.items() if isinstance(v, str)}
        names = text_columns(known)
        rows = chain(first, rows)
    for number, row in enumerate(rows):
        missing = [column for column in (*names[:2], *beside) if column not in row]
        if missing:
            lacks = " and ".join(map(repr, missing))
            raise DataError(f"the dataset has no columns {lacks}; it has {', '.join(row)}")
        sides = ["" if row[column] is None else row[column] for column in names[:2]]
        if not (isinstance(sides[0], str) and isinstance(sides[1], str)):
            raise DataError(
                f"row {number} of the dataset has {sides!r} in {names[0]} and {names[1]}, not texts"
            )
        others = ("" if row[column] is None else str(row[column]) for column in beside)
        yield f"{name}:{number}", [*sides, *others]


def _numbered_lines(path: Path) -> Generator[tuple[int, str | tuple[str]], None, None]:
    """Line numbers from 1, with either what is wrong or a one-tuple of the text."""
    for number, raw in raw_lines(path):
        if b"\0" in raw:
            yield number, "with a NUL character"
            continue
        try:
            text = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            yield number, "not valid UTF-8"
            continue
        yield number, (text.removeprefix(BOM) if number == 1 else text,)


def _aligned_rows(first: Path, second: Path) -> Iterator[tuple[str, list[str] | str]]:
    with closing(_numbered_lines(first)) as left, closing(_numbered_lines(second)) as right:
        for number, a in left:
            b = next(right, None)
            if b is None:
                raise DataError(
                    f"{second} ends after line {number - 1}, but {first} goes on; align them first"
                )
            place = f"{first.name}:{number}"
            wrong = a if isinstance(a, str) else b[1] if isinstance(b[1], str) else None
            yield place, wrong if wrong is not None else [a[0], b[1][0]]
        if next(right, None) is not None:
            raise DataError(f"{first} has fewer lines than {second}; align them first")


def _dataset_rows(
    path: Path, columns: Sequence[str] | None, beside: Sequence[str]
) -> Iterator[tuple[str, list[str] | str]]:
    files = visible_files(path, "data/*.parquet") or visible_files(path, "*.parquet")
    files = [path] if path.is_file() else files
    if files:
        yield from _parquet_rows(files, path.name, columns, beside)
        return
    import datasets

    try:
        dataset = datasets.load_from_disk(str(path))
    except Exception as error:
        raise DataError(
            f"{path} is a folder but no saved dataset ({error}); write it with save_to_disk, or "
            "name a folder of parquet files"
        ) from error
    if isinstance(dataset, datasets.DatasetDict):
        raise DataError(
            f"{path} holds the splits {', '.join(dataset)}; name one, such as {path / 'train'}"
        )
    try:
        # a length or offset that is damaged would have the reader leave the file, and crash
        dataset.data.table.validate(full=True)
        yield from rows_of_dataset(dataset, name=path.name, columns=columns, beside=beside)
    except DataError:
        raise
    except Exception as error:  # of pyarrow, or of text that is no UTF-8
        raise DataError(f"{path} is damaged: {error}") from error


def _parquet_rows(
    files: Sequence[Path], name: str, columns: Sequence[str] | None, beside: Sequence[str]
) -> Iterator[tuple[str, list[str] | str]]:
    """Rows of parquet files in their order, such as the corpora that this package makes."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(files[0])
        kinds = zip(schema.names, schema.types, strict=True)
        names = tuple(columns or text_columns({n: "string" in str(kind) for n, kind in kinds}))
        wanted = [each for each in dict.fromkeys((*names[:2], *beside)) if each in schema.names]
        batches = (
            batch for file in files for batch in pq.ParquetFile(file).iter_batches(columns=wanted)
        )
        rows = (row for batch in batches for row in batch.to_pylist())
        yield from rows_of_dataset(rows, name=name, columns=names, beside=beside)
    except DataError:
        raise
    except Exception as error:  # of pyarrow
        raise DataError(f"{name} is damaged: {error}") from error


def good_rows(
    rows: Iterable[tuple[str, list[str] | str]],
    *,
    name: str,
    columns: int = 0,
    number: int | None = None,
    bad_rows: str = "skip",
    report: RowReport | None = None,
) -> Iterator[list[str]]:
    """The good rows, stripped; a warning counts the others at the end.

    A first row that names its columns (`HEADERS`) is no pair, and so a bad one.

    Args:
        rows: As `iterate_rows` gives them.
        name: Of the source, for the warning.
        columns: Columns a row must have; as many as the first good one if 0.
        number: A column that must hold a finite number.
        bad_rows: `skip` or `refuse`.
        report: Where bad rows are counted, for a caller who tells of them; then nothing is warned.

    Raises:
        DataError: The first row names other columns, or a row is bad and `bad_rows` is `refuse`.
    """
    if bad_rows not in BAD_ROWS:
        raise DataError(f"bad_rows must be {' or '.join(BAD_ROWS)}, got {bad_rows!r}")
    counted = RowReport() if report is None else report
    as_first = "" if columns else " as in the first row"
    for index, (place, sides) in enumerate(rows):
        wrong = sides if isinstance(sides, str) else None
        if not index and not isinstance(sides, str):
            refuse_texts_elsewhere(place, sides)
        if wrong is None and len(sides) < 2:
            wrong = "without two columns"
        elif not isinstance(sides, str) and not index and names_columns(sides):
            wrong = "that names the columns"
        elif wrong is None and columns and len(sides) != columns:
            wrong = f"without {columns} columns{as_first}"
        elif wrong is None and not (sides[0].strip() and sides[1].strip()):
            wrong = "with an empty side"
        elif wrong is None and number is not None and not _is_number(sides[number]):
            wrong = "with a score that is no number"
        if wrong is None:
            columns = columns or len(sides)
            yield [side.strip() for side in sides]
        elif bad_rows == "refuse":
            raise DataError(f"{place} is a row {wrong}; mend it, or set bad_rows to skip")
        else:
            counted.add(wrong, place)
    if report is None and counted.bad:
        logger.warning("%s: %s", name, counted.describe())


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _within(sides: list[str], min_words: int, max_words: int | None) -> bool:
    words = [len(side.split()) for side in sides[:2]]
    return min(words) >= min_words and (max_words is None or max(words) <= max_words)


def _sample(
    rows: Iterable[list[str]], most: int | None, choice: random.Random, columns: int
) -> list[tuple[str, ...]]:
    """Reservoir sampling of the first columns, put back into file order."""
    if most is None:
        return [tuple(row[:columns]) for row in rows]
    kept: list[tuple[int, tuple[str, ...]]] = []
    for index, row in enumerate(rows):
        pair = tuple(row[:columns])
        if len(kept) < most:
            kept.append((index, pair))
        else:
            slot = choice.randrange(index + 1)
            if slot < most:
                kept[slot] = (index, pair)
    return [pair for _, pair in sorted(kept)]
