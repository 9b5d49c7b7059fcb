"""Sentence pairs from TSV, CSV, JSON, parquet, aligned text files and saved datasets.

`find_layout` detects the header and the two text columns from the first rows. Bad rows are skipped
and counted. An error is raised only if too large a share of the rows is bad.
"""

import csv
import json
import logging
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import visible_files
from paraphrastic_hf.io.lines import (
    BLANK,
    NOT_UTF8,
    NUL,
    Remarks,
    aligned_lines,
    decoded,
    is_blank,
    raw_lines,
    table_kind,
)

logger = logging.getLogger(__name__)

BAD_ROWS = ("skip", "refuse")
FIRST_ROWS = 100  # number of rows from which the layout of a table is detected
T = TypeVar("T")
Pair = tuple[str, str]
Row = tuple[str, list[str] | str]  # the place of a row, and its cells or the reason why it is bad

TWO, NO_OBJECT = "without two columns", "that is not a JSON object"
NO_VALUE = "without a score or label"
NO_TEXT = "whose sides are not texts"

# names of the two text columns, without punctuation, most specific first
NAMES = (
    "sentence1 sentence2, sentencea sentenceb, question1 question2, premise hypothesis, "
    "1string 2string, text1 text2, texta textb, phrase1 phrase2, sent1 sent2, sent0 sent1, s1 s2, "
    "word1 word2, anchor positive, query positive, reference translation, original paraphrase, "
    "source target, src tgt, src trg"
)
HEADERS = [frozenset(names.split()) for names in NAMES.split(",")]
# names of the column with the score or label of a pair, most specific first
VALUES = (
    *("score", "similarity", "relatednessscore", "relatedness", "label", "goldlabel"),
    *("isduplicate", "quality", "entailmentjudgment", "entailmentlabel", "rating", "gold", "class"),
)
SHOWN = 20  # column names in a message
FEW = 5  # minimum number of cells to distinguish ids from texts
WORDS = 6  # a first cell with at least this many words is text, not a column name
MOSTLY = 0.9  # share of a column's cells that decides its kind
_NUMBERS = re.compile(r"[\s\d.,;:/()%+\-eE]*\d[\s\d.,;:/()%+\-eE]*")
_ID = re.compile(r"[!-~]*\d[!-~]*")
# ISO 639-1, and common codes of ISO 639-3
CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv "
    "cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr "
    "ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw "
    "ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv "
    "ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr "
    "ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi "
    "yo za zh zu ara ces cmn deu eng fra heb hin ind ita jpn kor nld pol por rus spa tur ukr "
    "urd vie zho"
)
LANGUAGES = frozenset(CODES.split())
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]\w+)?")  # with or without a region, such as pt-BR
_PROSE = re.compile(r"\S\s+\S|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\uffdc]")


@dataclass(frozen=True)
class Wanted:
    """Columns to read from a table, by name or number from 1."""

    columns: Sequence[str] | None = None  # the texts; None detects them
    beside: Sequence[Any] = ()  # further columns, whose cells follow the texts
    prefer: Sequence[str] = ()  # names of two columns that are the texts if a table has both
    value: str | None = None  # the score or label, whose cell comes last; "" detects it


class Layout(NamedTuple):
    """Columns of a table."""

    names: list[str]  # from the header, or numbers from 1
    has_header: bool
    taken: list[int]  # indices of the wanted columns: the texts, then the others
    value: str | None = None  # column of the score or label, if wanted and found
    more: int = 0  # number of additional columns that a row may have

    def cells(self, row: Sequence[str]) -> list[str] | str:
        """Return the wanted cells of a row, or the reason why the row is bad."""
        if len(row) != len(self.names) and len(row) != len(self.names) + self.more:
            return TWO if len(row) < 2 else f"without {len(self.names)} columns"
        return [row[place] for place in self.taken]

    def describe(self) -> str:
        """Return text such as `the texts are in columns 2 and 3`."""
        texts = " and ".join(self.names[place] for place in self.taken[:2])
        return f"the texts are in {'' if self.has_header else 'columns '}{texts}"


def find_layout(
    rows: Sequence[Sequence[str]],
    name: str,
    wanted: Wanted,
    *,
    header: bool | None = None,
    texts: Sequence[int] | None = None,
) -> Layout:
    """Find the columns of a table from its first rows.

    The table has as many columns as most rows. The first row is a header if it has known names
    (`HEADERS`), two language codes, or text above a column of numbers. Without known names, the
    texts are the first two columns of prose, as opposed to numbers, ids and labels. `texts` limits
    them to some columns. `header` tells whether the first row is a header; None detects it.
    """
    if not rows:
        return Layout(["1", "2"], False, [0, 1])
    least = len(wanted.columns) if wanted.columns else 2  # a list of texts needs one column
    counts = Counter(len(row) for row in rows if len(row) >= least)
    most = max(counts.values(), default=0)
    count = next((len(row) for row in rows if most and counts[len(row)] == most), least)
    count = len(rows[0]) if header else count
    same = [list(row) for row in rows if len(row) == count]
    head = same[0] if same and rows[0] == same[0] else []
    below = [_Column([row[place] for row in same[1:]]) for place in range(count)]
    if header is True or (header is None and _is_header(head, below, wanted)):
        names = [cell.strip() for cell in head]
    else:
        names, head = [str(number + 1) for number in range(count)], []
        below = [_Column([row[place] for row in same]) for place in range(count)]
    beside = [column_place(names, column, name) for column in wanted.beside]
    if wanted.columns:
        taken = [column_place(names, column, name) for column in wanted.columns]
    else:
        taken = _find_texts(names, bool(head), below, wanted, name, texts, beside)
    value = _find_value(names, below, taken) if wanted.value == "" else wanted.value
    taken = [*taken, *beside, *([] if value is None else [column_place(names, value, name)])]
    is_stsb = count == 7 and all(row[0].startswith("main-") for row in same)
    return Layout(names, bool(head), taken, value, more=2 if is_stsb else 0)  # license columns


class _Column:
    def __init__(self, cells: Sequence[str]) -> None:
        found = [cell.strip() for cell in cells if cell.strip()]
        most = max(len(found), 1) * MOSTLY
        distinct, self.count = set(found), len(found)
        self.length = sum(map(len, found)) / max(len(found), 1)
        self.has_numbers = sum(map(bool, map(_NUMBERS.fullmatch, found))) >= most and bool(found)
        self.has_ids = sum(map(bool, map(_ID.fullmatch, found))) >= most and bool(found)
        self.has_scores = bool(found) and all(map(_is_number, found))
        self.has_prose = 5 * sum(map(bool, map(_PROSE.search, found))) > len(found)
        self.has_labels = not self.has_prose and 5 * len(distinct) <= len(found)
        self.has_whole_ids = len(distinct) == len(found) and all(map(str.isdecimal, found))


def _is_header(head: Sequence[str], below: Sequence[_Column], wanted: Wanted) -> bool:
    """Return whether the first row names the columns, in a format with optional headers."""
    if not head or any(map(_reads_as_text, head)) or any(map(_NUMBERS.fullmatch, head)):
        return False
    cells = {cell.strip() for cell in head}
    asked = {str(each) for each in (*(wanted.columns or ()), *wanted.beside)} | {wanted.value or ""}
    named = {each for each in asked if each and not each.isdecimal()}
    if names_columns(head) or any(each and each <= cells for each in (named, set(wanted.prefer))):
        return True
    has_numbers = any(column.has_numbers for column in below)
    if len(head) == 2 and {re.split("[-_]", cell.casefold())[0] for cell in cells} <= LANGUAGES:
        return all(column.length > 3 for column in below)  # otherwise the codes may be words
    return has_numbers and not any(
        column.has_numbers and not cell.strip() for cell, column in zip(head, below, strict=True)
    )


def _find_texts(
    names: Sequence[str],
    has_names: bool,
    columns: Sequence[_Column],
    wanted: Wanted,
    name: str,
    texts: Sequence[int] | None,
    beside: Sequence[int],
) -> list[int]:
    plain = list(map(_plain, names))
    if wanted.prefer and set(map(_plain, wanted.prefer)) <= set(plain):
        return [plain.index(_plain(each)) for each in wanted.prefer]
    for header in HEADERS if has_names else ():
        if header <= set(plain):
            return [place for place, each in enumerate(plain) if each in header][:2]
    codes = [place for place, name in enumerate(names) if _LANGUAGE.fullmatch(name)]
    codes = [place for place in codes if columns[place].has_prose]
    if has_names and len(codes) == 2:
        return codes
    allowed = range(len(names)) if texts is None else texts
    others = [place for place in allowed if place not in beside]
    allowed = others if len(others) >= 2 else allowed
    if len(allowed) == 2:
        both = [columns[place] for place in allowed]
        if texts is not None or not _are_numbered(both, has_names):
            return list(allowed)
    for is_wanted in (
        lambda column: column.has_prose,
        lambda column: not (column.has_numbers or column.has_ids or column.has_labels),
        lambda column: not (column.has_numbers or column.has_ids),
    ):
        found = [place for place in allowed if is_wanted(columns[place])]
        if len(found) >= 2:
            return found[:2]
    raise DataError(
        f"{name} has fewer than two columns of text ({_shown(names)}). Name them in `columns`"
    )


def _are_numbered(columns: Sequence[_Column], has_names: bool) -> bool:
    """Return whether one of the two columns has numbers or ids, and the other column texts."""
    for one, other in zip(columns, columns[::-1], strict=True):
        if one.has_numbers and has_names and not other.has_numbers:
            return True
        if one.has_ids and other.has_prose and one.count >= FEW:
            return True
    return False


def _find_value(
    names: Sequence[str], columns: Sequence[_Column], texts: Sequence[int]
) -> str | None:
    """Find the column of scores or labels: the first match in this list.

    A column with a known name, the first column of numbers after the texts, the last column of
    numbers (not ids) before the texts, a column with few distinct values.
    """
    plain = list(map(_plain, names))
    for known in VALUES:
        if known in plain:
            return names[plain.index(known)]
    others = [place for place in range(len(names)) if place not in texts]
    numbers = [place for place in others if columns[place].has_scores]
    after = [place for place in numbers if place > max(texts)]
    scores = [place for place in numbers if not columns[place].has_whole_ids]
    labels = [place for place in others if columns[place].has_labels]
    found = [*after[:1], *scores[-1:], *labels]
    return names[found[0]] if found else None


def column_place(names: Sequence[str], column: Any, name: str) -> int:
    """Return the index of a column, given its name or its number from 1."""
    wanted = str(column)
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    if names[:1] == ["1"]:
        raise DataError(
            f"{name} has no column {wanted!r} and no header. Use a number from 1 to {len(names)}"
        )
    raise DataError(f"{name} has no column {wanted!r}. Its columns are {_shown(names)}")


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + ", ..." * (len(names) > SHOWN)


def names_columns(row: Sequence[str]) -> bool:
    """Return whether a first row contains the column names of a common corpus (`HEADERS`)."""
    cells = set(map(_plain, row))
    return any(header <= cells for header in HEADERS)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", str(name)).casefold()


def _reads_as_text(name: str) -> bool:
    return len(name.split()) >= WORDS or name.strip().endswith(tuple(".!?。？！"))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class PairTable:
    """Good pairs of a table in file order. `values` are scores or labels, as strings."""

    pairs: list[Pair]
    values: list[str] | None
    layout: Layout


def read_table(
    path: str | Path, *, columns: Sequence[str] | None = None, value: str | None = ""
) -> PairTable:
    """Read the pairs of a table, with scores or labels if the table has any."""
    layout, rows = open_table(Path(path), Wanted(columns, value=value))
    beside = 0 if layout.value is None else 1
    checked = (
        (place, NO_VALUE if beside and not isinstance(row, str) and is_blank(row[2]) else row)
        for place, row in rows
    )
    found = clean_pairs(checked, name=str(path), beside=beside)
    values = [row[2] for row in found] if beside else None
    return PairTable([row[:2] for row in found], values, layout)


def read_pairs(
    path: str | Path,
    *,
    second: str | Path | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> list[Pair]:
    """Return the good sentence pairs of one source, in file order, as `clean_pairs` does."""
    rows = iterate_rows(path, second=second, columns=columns)
    return clean_pairs(rows, name=str(path), **options)


def clean_pairs(
    rows: Iterable[Row],
    *,
    name: str,
    max_pairs: int | None = None,
    min_words: int = 1,
    max_words: int | None = None,
    bad_rows: str = "skip",
    max_bad_rows: float | None = None,
    seed: int = 1,
    beside: int = 0,
) -> list[Any]:
    """Return the good pairs of a source, in order, as tuples of texts and of `beside` further
    cells. A source of more than `max_pairs` is sampled at random.
    """
    remarks, outside = Remarks(name), 0

    def within() -> Iterator[tuple[str, ...]]:
        nonlocal outside
        good = good_rows(
            rows, name=name, bad_rows=bad_rows, max_bad_rows=max_bad_rows, remarks=remarks
        )
        for row in good:
            words = [len(side.split()) for side in row[:2]]
            if min(words) < min_words or (max_words is not None and max(words) > max_words):
                outside += 1
            else:
                yield tuple(row[: 2 + beside])

    pairs = sample(within(), max_pairs, seed)
    if not pairs:
        most = "" if max_words is None else f" or above max_words ({max_words})"
        reasons = [remarks.describe()] if remarks.bad else []
        if outside:
            reasons.append(
                f"{counted(outside, 'pair')} with a side below min_words ({min_words}){most}"
            )
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise DataError(f"{name} has no usable sentence pairs{why}")
    if remarks.bad:
        logger.warning("%s: skipped %s", name, remarks.describe())
    return pairs


def sample(items: Iterable[T], most: int | None, seed: int) -> list[T]:
    """Return a uniform sample of at most `most` items (None: all), in their order."""
    if most is None:
        return list(items)
    choice = random.Random(seed)
    kept: list[tuple[int, T]] = []
    for number, item in enumerate(items):  # reservoir sampling
        if len(kept) < most:
            kept.append((number, item))
        elif (slot := choice.randrange(number + 1)) < most:
            kept[slot] = (number, item)
    return [item for _, item in sorted(kept, key=itemgetter(0))]


def good_rows(
    rows: Iterable[Row],
    *,
    name: str,
    number: int | None = None,
    bad_rows: str = "skip",
    max_bad_rows: float | None = None,
    remarks: Remarks | None = None,
) -> Iterator[list[str]]:
    """Yield the good rows, with stripped cells. Skip or refuse the others (`bad_rows`).

    `number` is the index of a cell that must hold a finite number. A share of bad rows above
    `max_bad_rows`, 0 to 1, is an error. Without `remarks`, the end warns of bad rows.
    """
    if bad_rows not in BAD_ROWS:
        raise DataError(f"bad_rows must be {' or '.join(BAD_ROWS)}, got {bad_rows!r}")
    found = Remarks(name) if remarks is None else remarks
    found.fix = "set data.bad_rows to skip" * (bad_rows == "refuse")
    for place, cells in rows:
        if isinstance(cells, str):
            found.add(cells, place)
            continue
        cells = [cell.strip() for cell in cells]
        if not all(cells[:2]):
            found.add("with an empty side", place)
        elif number is not None and not _is_number(cells[number]):
            found.add("with a score that is not a number", place)
        else:
            found.good += 1
            yield cells
    found.check(max_bad_rows)
    if remarks is None and found.bad:
        logger.warning("%s: skipped %s", name, found.describe())


def iterate_rows(
    path: str | Path,
    *,
    second: str | Path | None = None,
    columns: Sequence[str] | None = None,
    beside: Sequence[Any] = (),
    prefer: Sequence[str] = (),
) -> Iterator[Row]:
    """Yield `(place, cells)` for each good row of a source and `(place, reason)` for each bad row.

    A source is a TSV, CSV, JSON Lines, JSON or parquet file, a text file (with the aligned file
    `second`), a folder of parquet files, or one that `Dataset.save_to_disk` wrote. Files may end in
    .gz, .xz or .bz2. The options are as in `Wanted`.
    """
    if second is not None:
        yield from _aligned_rows(Path(path), Path(second))
        return
    layout, rows = open_table(Path(path), Wanted(columns, beside, prefer))
    if layout.has_header or len(layout.names) > 2:
        logger.info("%s: %s", Path(path).name, layout.describe())
    yield from rows


def open_table(path: Path, wanted: Wanted) -> tuple[Layout, Iterator[Row]]:
    """Return the layout of a table, and an iterator over its rows as in `iterate_rows`."""
    kind = table_kind(path)
    if path.is_dir() or path.suffix == ".parquet":
        return _open_dataset(path, wanted)
    if kind == "JSON":
        return _open_mappings(_json_rows(path), path.name, wanted)
    rows = _csv_rows(path) if kind == "CSV" else _tsv_rows(path)
    first = list(islice(rows, FIRST_ROWS))
    good = [row for _, row in first if not isinstance(row, str)]
    header = kind == "CSV" and bool(good) and _csv_has_header(good[0], path.name, wanted)
    layout = find_layout(good, path.name, wanted, header=header or None)

    def laid_out() -> Iterator[Row]:
        is_header = layout.has_header
        for place, row in chain(first, rows):
            if isinstance(row, str):
                yield place, row
            elif is_header:
                is_header = False
            else:
                yield place, layout.cells(row)

    return layout, laid_out()


def _csv_has_header(row: Sequence[str], name: str, wanted: Wanted) -> bool:
    texts = [cell for cell in row if _reads_as_text(cell)]
    if len(texts) >= 2 and not wanted.columns and not any(map(_is_number, row)):
        raise DataError(
            f"{name} starts with text ({texts[0][:60]!r}) instead of column names. Add a header "
            "such as sentence1,sentence2, or set `columns` if this is the header"
        )
    return not any(map(_is_number, row))


def has_named_columns(path: Path) -> bool:
    """Return whether a source always has column names: saved datasets, parquet, CSV and JSON."""
    return path.is_dir() or path.suffix == ".parquet" or table_kind(path) is not None


def _tsv_rows(path: Path) -> Generator[Row, None, None]:
    name, separator = path.name, ""
    for number, raw in raw_lines(path):
        text, wrong = decoded(raw)
        if wrong is None and is_blank(text):
            wrong = BLANK
        separator = separator or separator_of(text)
        yield f"{name}:{number}", text.split(separator) if wrong is None else wrong


def separator_of(line: str) -> str:
    """Return the column separator of a line: a tab, or `|||` as in PPDB."""
    return next((mark for mark in (" ||| ", "|||") if mark in line and "\t" not in line), "\t")


def _aligned_rows(first: Path, second: Path) -> Iterator[Row]:
    for number, *raw in aligned_lines(first, second, raw_lines):
        (a, wrong), (b, wrong_too) = map(decoded, raw)
        yield f"{first.name}:{number}", wrong or wrong_too or [a, b]


def _csv_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV file, header first. A file with tabs and a number in its first line,
    such as the STS Benchmark, is read as TSV.
    """
    csv.field_size_limit(2**31 - 1)
    with closing(raw_lines(path)) as lines:
        head = next(lines, (1, b""))[1].decode("utf-8", "surrogateescape")
    delimiter = next((mark for mark in "\t,;" if mark in head), ",")
    if delimiter == "\t" and any(map(_is_number, head.split("\t"))):
        yield from _tsv_rows(path)
        return
    start = 1  # line number of the current row

    def text() -> Iterator[str]:
        for _, raw in raw_lines(path):
            # invalid UTF-8 becomes surrogates, which are detected below
            line = raw.decode("utf-8", "surrogateescape").removesuffix("\r")
            yield line.replace("\r", " ") + "\n"  # the parser would end the row at CR

    reader = csv.reader(text(), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            place, start = f"{path.name}:{reader.line_num}", reader.line_num + 1
            joined = "".join(row)
            if is_blank(joined):
                yield place, BLANK
            elif "\0" in joined:
                yield place, NUL
            elif not joined.isprintable() and any("\ud800" <= c <= "\udfff" for c in joined):
                yield place, NOT_UTF8
            else:
                yield place, row
    except csv.Error as error:
        raise DataError(
            f"{path}:{start} opens a quote that is not closed properly (line {reader.line_num}: "
            f"{error}). Double each quote inside a cell"
        ) from error


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    lines = raw_lines(path)
    _, head = next(lines, (1, b""))
    if head.lstrip().startswith(b"["):
        try:
            values = json.loads(b"\n".join([head, *(raw for _, raw in lines)]))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is damaged: {error}") from error
        for place, value in enumerate(values):
            yield f"{path.name}:{place}", value if isinstance(value, dict) else NO_OBJECT
        return
    for number, raw in chain([(1, head)] if head else [], lines):
        try:
            value = json.loads(raw) if raw.strip() else BLANK
        except (ValueError, RecursionError):
            value = None
        is_good = isinstance(value, dict) or value is BLANK
        yield f"{path.name}:{number}", value if is_good else NO_OBJECT


def rows_of_dataset(
    dataset: Any,
    *,
    name: str = "dataset",
    columns: Sequence[str] | None = None,
    beside: Sequence[Any] = (),
) -> Iterator[Row]:
    """Yield the rows of a `datasets.Dataset` or an iterable of mappings."""
    if isinstance(dataset, Mapping):
        raise DataError(f"The dataset has splits ({', '.join(map(str, dataset))}). Pass one")
    rows = ((f"{name}:{number}", row) for number, row in enumerate(mappings(dataset)))
    yield from _open_mappings(rows, name, Wanted(columns, beside))[1]


def mappings(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a dataset. Raise an error for a row that is not a mapping."""
    for row in rows:
        if not isinstance(row, Mapping):
            shown = repr(row)[:60]
            raise DataError(
                "Rows of a dataset must be mappings, such as {'sentence1': 'A cat.', 'sentence2': "
                f"'The cat.'}}, got {shown}"
            )
        yield row


def _open_mappings(
    rows: Iterator[tuple[str, Mapping[str, Any] | str]], name: str, wanted: Wanted
) -> tuple[Layout, Iterator[Row]]:
    first = list(islice(rows, FIRST_ROWS))
    layout = _layout_of_mappings(
        [row for _, row in first if isinstance(row, Mapping)], name, wanted
    )
    return layout, _laid_out(chain(first, rows), layout, wanted)


def _laid_out(
    rows: Iterable[tuple[str, Mapping[str, Any] | str]], layout: Layout, wanted: Wanted
) -> Iterator[Row]:
    names = [layout.names[place] for place in layout.taken]
    count = len(wanted.columns) if wanted.columns else 2  # number of texts
    for place, row in rows:
        if isinstance(row, str) or not names:
            yield place, row if isinstance(row, str) else NO_TEXT
            continue
        cells = ["" if row.get(name) is None else row[name] for name in names]
        if all(isinstance(cell, str) for cell in cells[:count]):
            yield place, [*cells[:count], *map(str, cells[count:])]
        else:
            yield place, NO_TEXT


def _layout_of_mappings(rows: Sequence[Mapping[str, Any]], name: str, wanted: Wanted) -> Layout:
    names = list(dict.fromkeys(key for row in rows for key in row))
    cells = [["" if row.get(key) is None else str(row[key])[:200] for key in names] for row in rows]
    texts = [
        place
        for place, key in enumerate(names)
        if any(isinstance(row.get(key), str) for row in rows)
    ]
    if not rows:
        return Layout(list(map(str, wanted.columns or ())), True, [])
    layout = find_layout([names, *cells], name, wanted, header=True, texts=texts)
    count = len(wanted.columns) if wanted.columns else 2
    layout = layout._replace(names=names)
    wrong = [layout.names[place] for place in layout.taken[:count] if place not in texts]
    if wrong:
        raise DataError(f"{name} has no text in column {wrong[0]!r}. Its columns: {_shown(names)}")
    return layout


def _open_dataset(path: Path, wanted: Wanted) -> tuple[Layout, Iterator[Row]]:
    files = visible_files(path, "data/*.parquet") or visible_files(path, "*.parquet")
    files = [path] if path.is_file() else files
    if files:
        return _open_parquet(files, path.name, wanted)
    import datasets

    try:
        dataset = datasets.load_from_disk(str(path))
    except Exception as error:
        raise DataError(
            f"{path} is not a saved dataset ({error}). Use save_to_disk, or parquet files"
        ) from error
    if isinstance(dataset, datasets.DatasetDict):
        raise DataError(f"{path} has splits {', '.join(dataset)}. Name one: {path / 'train'}")

    def rows() -> Iterator[tuple[str, Mapping[str, Any]]]:
        try:
            # without validation, a damaged length or offset could crash the reader
            dataset.data.table.validate(full=True)
            for number, row in enumerate(dataset):
                yield f"{path.name}:{number}", row
        except Exception as error:  # from pyarrow, or invalid UTF-8
            raise DataError(f"{path} is damaged: {error}") from error

    return _open_mappings(rows(), path.name, wanted)


def _open_parquet(files: Sequence[Path], name: str, wanted: Wanted) -> tuple[Layout, Iterator[Row]]:
    def rows(keeps: Callable[[Any], bool], size: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for number, row in enumerate(parquet_rows(files, keeps, size)):
            yield f"{name}:{number}", row

    first = islice(rows(lambda field: field.type.num_fields == 0, FIRST_ROWS), FIRST_ROWS)
    layout = _layout_of_mappings([row for _, row in first], name, wanted)
    taken = {layout.names[place] for place in layout.taken}
    return layout, _laid_out(rows(lambda field: field.name in taken, 1 << 16), layout, wanted)


def parquet_rows(
    files: Sequence[Path], keeps: Callable[[Any], bool], size: int
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of parquet files, with the columns whose field `keeps` accepts."""
    require("data", "pyarrow", what=f"reading {files[0]}")
    import pyarrow.parquet as pq

    for path in files:
        try:
            file = pq.ParquetFile(path)
            names = [field.name for field in file.schema_arrow if keeps(field)]
            for batch in file.iter_batches(size, columns=names):
                yield from batch.to_pylist()
        except Exception as error:  # pyarrow raises many kinds
            raise DataError(f"{path} is damaged: {error}") from error
