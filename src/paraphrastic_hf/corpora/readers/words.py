"""Readers of word vectors in text format (GloVe, PARAGRAM, ParaNMT, word2vec) and of word lists.

Each line is a word and the values of its vector. In word2vec's format the first line gives the
number of words and the dimension. Words may contain spaces (GloVe 840B, character n-grams), so
everything before the last `dimension` values is the word.
"""

import logging
import re
import zipfile
from array import array
from collections.abc import Container, Iterator
from contextlib import closing
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.lines import numbered, open_lines, text_lines

logger = logging.getLogger(__name__)

HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
BAD_ROWS = ("refuse", "skip", "last")
MAX_WARNINGS = 10
FIX = "Correct it, or set bad_rows to skip or last (--bad-rows; in a recipe, model.bad_vectors)"


class _BadRow(Exception):
    """Raised for a row without a usable vector. The message is the reason."""


def read_vectors(
    path: str | Path,
    *,
    wanted: Container[str] | None = None,
    dimension: int | None = None,
    bad_rows: str = "refuse",
    progress: bool = False,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words and vectors, (dimension,) float32, of a file in its order.

    `archive.zip/name` selects one of several files in an archive. The values of words that are not
    `wanted` are not parsed. `bad_rows` `refuse` stops at the first bad row or repeated word, `skip`
    drops both, and `last` drops bad rows and yields repeated words again.
    """
    path = Path(path)
    seen: set[str] = set()
    rows = skipped = 0
    expected = None
    for number, raw in _lines(path, progress):
        if number == 1 and (header := HEADER.fullmatch(raw)):
            expected, given = map(int, header.groups())
            dimension = dimension or given
            continue
        if not raw.strip():
            continue
        rows += 1
        try:
            dimension = dimension or _first_dimension(raw)
            word, numbers = _split(raw, dimension)
            if wanted is not None and word not in wanted:
                continue
            vector = _vector(numbers)
            if word in seen and bad_rows != "last":
                raise _BadRow(f"repeats the word {word!r}")
        except _BadRow as problem:
            if bad_rows == "refuse":
                raise DataError(f"{path}:{number} {problem}. {FIX}") from None
            if skipped < MAX_WARNINGS:
                logger.warning("Skipped %s:%d, which %s", path, number, problem)
            skipped += 1
            continue
        seen.add(word)
        yield word, vector
    if skipped:
        logger.warning("Skipped %s of %s rows of %s", f"{skipped:,}", f"{rows:,}", path)
    if not rows:
        raise DataError(f"{path} is empty. Expected a word and its numbers on each line")
    if expected is not None and rows < expected and bad_rows == "refuse":
        raise DataError(
            f"{path} has {counted(rows, 'row')}, but its first line states {expected:,}. Download "
            "the file again, or set bad_rows to skip (recipe key: model.bad_vectors)"
        )


def load_vectors(
    path: str | Path, *, bad_rows: str = "refuse", progress: bool = False
) -> tuple[list[str], np.ndarray]:
    """Read distinct words and their vectors, (words, dimension) float32, from a file."""
    row_of: dict[str, int] = {}
    values = array("f")  # grows in place
    for word, vector in read_vectors(path, bad_rows=bad_rows, progress=progress):
        start = row_of.setdefault(word, len(row_of)) * len(vector)
        values[start : start + len(vector)] = array("f", vector.tobytes())
    if not row_of:
        raise DataError(f"{path} has no valid row. Expected a word and its numbers on each line")
    return list(row_of), np.frombuffer(values, np.float32).reshape(len(row_of), -1)


def _first_dimension(raw: bytes) -> int:
    if not (count := _count_numbers(raw)):
        raise _BadRow(f"has no number after {_shown_word(raw)}")
    return count


def _shown_word(raw: bytes) -> str:
    return repr(raw.split(None, 1)[0][:40].decode("utf-8", "replace"))


def _split(raw: bytes, dimension: int) -> tuple[str, list[bytes]]:
    raw = raw.rstrip()
    fields = raw.rsplit(b" ", dimension)
    if b"\t" in raw or b"" in fields[1:]:  # separators other than GloVe's single spaces
        fields = raw.rsplit(None, dimension)
    word, *numbers = fields
    *_, last = word.rsplit(b" ", 1)
    if len(numbers) != dimension or (last != word and b"." in last and _is_number(last)):
        found = _count_numbers(raw)
        raise _BadRow(
            f"has {counted(found, 'number')} for {_shown_word(raw)} instead of {dimension} "
            "(in a recipe, the dimension is model.hidden_size or model.embedding_size)"
        )
    if not word:
        raise _BadRow("has no word")
    try:
        return word.decode("utf-8"), numbers
    except UnicodeDecodeError as error:
        raise _BadRow(f"has a word that is not UTF-8, {word[:40]!r}") from error


def _vector(numbers: list[bytes]) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(number) for number in numbers], np.float32)
    except ValueError as error:
        raise _BadRow(f"has an invalid number ({str(error)[:80]})") from error
    if not np.isfinite(vector).all():
        bad = numbers[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise _BadRow(f"has {bad[:40].decode('ascii', 'replace')!r}, which is not finite")
    return vector


def _count_numbers(raw: bytes) -> int:
    """Count the values at the end of a row. The first field is always the word."""
    return sum(1 for _ in takewhile(_is_number, reversed(raw.split()[1:])))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(path: Path, progress: bool) -> Iterator[tuple[int, bytes]]:
    with (
        closing(_open(path)) as file,
        tqdm(desc=f"reading {path.name}", unit="B", unit_scale=True, disable=not progress) as bar,
    ):
        for number, raw in numbered(file, path):
            bar.update(len(raw) + 1)
            yield number, raw


def _open(path: Path) -> BinaryIO:
    """Open a file as unpacked bytes. A path may name a file within a .zip."""
    archive = next((p for p in (path, *path.parents) if p.suffix == ".zip" and p.is_file()), None)
    if archive is None:
        return open_lines(path)
    try:
        files = zipfile.ZipFile(archive)
    except (OSError, NotImplementedError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise DataError(f"Cannot open {archive}: {error}") from error
    names = [info.filename for info in files.infolist() if not info.is_dir()]
    chosen = path.relative_to(archive).as_posix() if path != archive else None
    if chosen is None and len(names) == 1:
        chosen = names[0]
    if chosen not in names:
        raise DataError(f"{archive} has {', '.join(names[:8]) or 'no file'}. Choose {archive}/NAME")
    try:
        return cast(BinaryIO, files.open(chosen))
    except (OSError, RuntimeError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise DataError(f"Cannot open {chosen} in {archive}: {error}") from error


def read_word_list(path: str | Path, most: int | None = None) -> dict[str, int | None]:
    """Return distinct words or phrases in file order, each with its count, from `most` lines. A
    count follows a space or tab, and is None in a file whose first line has none.
    """
    words: dict[str, int | None] = {}
    has_counts = False
    for number, line in islice(text_lines(Path(path)), most):
        found = re.fullmatch(r"(.+)[ \t](\d+)", line)
        has_counts = found is not None if number == 1 else has_counts
        if not has_counts:
            words.setdefault(line.strip(), None)
        elif found is None:
            raise DataError(f"{path}:{number} has no count, unlike the first line: {line!r}")
        else:
            words.setdefault(found[1], int(found[2]))
    words.pop("", None)
    if not words:
        raise DataError(f"{path} contains no words")
    return words
