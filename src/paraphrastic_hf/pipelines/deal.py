"""Distribute the rows of a recipe's sources to tasks, in one file per task.

The task of a row is a hash of its reference in lower case, or of the other side if the recipe
removes duplicates of that side. Duplicates therefore go to one task, so that a step of this task
finds them. Rows keep the order of the sources.
"""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.io.pairs import good_rows
from paraphrastic_hf.pipelines.recipe import BitextArguments, CorpusData
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION, Row
from paraphrastic_hf.training.data.sources import open_source

CORPUS, LICENSE = "corpus", "license"  # columns with the origin of a row
HELD = 100_000  # maximum number of rows in memory, over all tasks
_TO_SPACES = str.maketrans("\t\n\r", "   ")


def deal(
    data: CorpusData,
    folder: Path,
    tasks: int,
    *,
    by: str = REFERENCE,
    data_root: str | Path | None = None,
    progress: bool = False,
) -> list[int]:
    """Write the rows of each task to a file, such as `00000.tsv`. Return the row counts."""
    if not data.sources:
        raise DataError("data.sources is empty. List at least one file of bitext")
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{task:05d}.tsv" for task in range(tasks)]
    for name in names:
        (folder / name).write_bytes(b"")
    counts, held = [0] * tasks, 0
    lines: list[list[str]] = [[] for _ in range(tasks)]

    def flush() -> None:
        for name, some in zip(names, lines, strict=True):
            if some:
                with (folder / name).open("ab") as file:
                    file.write("".join(some).encode("utf-8", "replace"))
                some.clear()

    with tqdm(desc="reading", unit=" rows", unit_scale=True, disable=not progress) as bar:
        for number, source in enumerate(data.sources):
            before = sum(counts)
            for reference, other in _pairs(source, data, data_root):
                key = reference if by == REFERENCE else other
                task = zlib.crc32(key.lower().encode("utf-8", "replace")) % tasks
                lines[task].append(f"{reference}\t{other}\t{number}\n")
                counts[task] += 1
                held += 1
                if held == HELD:
                    flush()
                    bar.update(held)
                    held = 0
            if sum(counts) == before:
                raise DataError(f"{source.title} contains no pair with text on both sides")
        flush()
        bar.update(held)
    write_json(folder / "rows.json", counts)
    return counts


def _pairs(
    source: BitextArguments, data: CorpusData, data_root: str | Path | None
) -> Iterator[tuple[str, str]]:
    languages = source.languages or [data.reference, data.reference]
    first = languages.index(data.reference)
    taken = 0
    _, rows = open_source(source, data_root, name=source.title)
    good = good_rows(rows, name=source.title, max_bad_rows=data.max_bad_rows)
    for number, sides in enumerate(good):
        if number % source.every:
            continue
        if taken == source.max_pairs:
            break
        taken += 1
        one, other = sides[first], sides[1 - first]
        if source.dataset is not None or not one.isprintable() or not other.isprintable():
            one, other = one.translate(_TO_SPACES), other.translate(_TO_SPACES)
        yield one, other


def dealt_rows(
    path: Path, expected: int, sources: Sequence[BitextArguments], *, is_bitext: bool
) -> Iterator[Row]:
    """Yield the `expected` rows of one task from a file that `deal` wrote."""
    fix = f"Remove {path.parent} and repeat the command, which reads the sources again"
    other_name = SOURCE if is_bitext else TRANSLATION
    of_source: list[dict[str, Any]] = [
        {CORPUS: source.title, LICENSE: source.license} for source in sources
    ]
    found = 0
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                reference, other, number = line.split("\t")
                found += 1
                yield {REFERENCE: reference, other_name: other, **of_source[int(number)]}
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{path} was changed ({error}). {fix}") from error
    if found != expected:
        raise DataError(f"{path} was changed: {counted(found, 'row')}, not {expected:,}. {fix}")
