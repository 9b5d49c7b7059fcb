"""A sample of a corpus as a page and as a table for people to judge, and their answers by score bin
(thesis, 4.3.2 and Table 27)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import replacing
from paraphrastic_hf.io.lines import number_in, text_lines
from paraphrastic_hf.pipelines.statistics.bins import Bin
from paraphrastic_hf.pipelines.statistics.page import page_of
from paraphrastic_hf.pipelines.steps.base import REFERENCE, TRANSLATION

PAGE_FILE, TABLE_FILE, KEY_FILE = "page.html", "rows.tsv", "key.tsv"
QUESTIONS = ("paraphrase", "fluency")
RATINGS = (1, 2, 3)
TABLE = ("row", REFERENCE, TRANSLATION, *QUESTIONS)
KEY = ("row", "low", "high", "score", "count", "overlap", "overlap_deviation")


@dataclass(frozen=True)
class BinAnswers:
    """What people said of the rows of a bin.

    Attributes:
        name: The bin, `(0.2, 0.4]`.
        count: Rows of the corpus in it.
        overlap: Trigram overlap of the sample, mean and standard deviation.
        ratings: For each question how often each rating was given, for 1 to 3.
    """

    name: str
    count: int
    overlap: tuple[float, float]
    ratings: dict[str, list[int]]


def refuse_sample(folder: str | Path) -> None:
    """Refuse to write where a sample is."""
    if (Path(folder) / KEY_FILE).exists():
        raise DataError(f"{folder} holds a sample, which answers may refer to; name another folder")


def write_sample(bins: Sequence[Bin], folder: str | Path, *, seed: int = 1) -> int:
    """Write the rows of all bins in random order, without their scores, for people to judge.

    The folder gets `page.html`, which asks in a browser and saves answers as a TSV file;
    `rows.tsv`, whose last two columns may be filled in instead; and `key.tsv`, which says what bin
    a row is of, and is not for those who judge.

    Args:
        bins: As `fill_bins` gives them.
        folder: Made if need be.
    """
    folder = Path(folder)
    refuse_sample(folder)
    rows = [(each, row, score) for each in bins for row, score in each.sample]
    if not rows:
        raise DataError("no row has a score within the bins; name other --bins")
    random.Random(seed).shuffle(rows)
    folder.mkdir(parents=True, exist_ok=True)
    table, key = ["\t".join(TABLE)], ["\t".join(KEY)]
    pairs: list[tuple[str, str]] = []
    for number, (each, row, score) in enumerate(rows, 1):
        texts = [" ".join((row[side] or "").split()) for side in (REFERENCE, TRANSLATION)]
        table.append("\t".join([str(number), *texts, "", ""]))
        numbers = (each.low, each.high, score, each.count, *each.overlap)
        key.append("\t".join([str(number), *(f"{value:.6g}" for value in numbers)]))
        pairs.append((texts[0], texts[1]))
    page = page_of(pairs, QUESTIONS)
    for name, text in ((PAGE_FILE, page), (TABLE_FILE, _lines(table)), (KEY_FILE, _lines(key))):
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    return len(rows)


def read_answers(folder: str | Path, files: Sequence[str | Path]) -> tuple[list[BinAnswers], float]:
    """What people said, by bin, and how often two people gave the same rating.

    Args:
        folder: What `write_sample` wrote.
        files: The answers of each person: what the page saved, or a filled-in `rows.tsv`. A
            question may be left blank.

    Returns:
        The bins in order; and the share of equal ratings, 0 to 1, over all questions that two
        people answered, NaN where there is none.
    """
    key = _read_key(Path(folder) / KEY_FILE)
    answers = [_read_person(Path(file), set(key)) for file in files]
    found: dict[str, BinAnswers] = {}
    for low, high, _, count, *overlap in sorted(key.values()):
        name = f"({low:g}, {high:g}]"
        empty = {question: [0, 0, 0] for question in QUESTIONS}
        found.setdefault(name, BinAnswers(name, int(count), (overlap[0], overlap[1]), empty))
    for person in answers:
        for (row, question), rating in person.items():
            low, high = key[row][:2]
            found[f"({low:g}, {high:g}]"].ratings[question][rating - 1] += 1
    equal: Counter[bool] = Counter()
    for number, person in enumerate(answers):
        for other in answers[number + 1 :]:
            equal.update(person[place] == other[place] for place in person.keys() & other.keys())
    return list(found.values()), equal[True] / equal.total() if equal else float("nan")


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _read_key(path: Path) -> dict[str, tuple[float, ...]]:
    if not path.is_file():
        raise DataError(f"{path} is not there; name the folder that `corpus sample` wrote")
    found = {}
    for number, line in text_lines(path):
        cells = line.split("\t")
        if number == 1 and tuple(cells) == KEY:
            continue
        if number == 1 or len(cells) != len(KEY):
            raise DataError(f"{path}:{number} is no line of a key: {line[:60]!r}")
        found[cells[0]] = tuple(number_in(cell, f"{path}:{number}") for cell in cells[1:])
    return found


def _read_person(path: Path, rows: set[str]) -> dict[tuple[str, str], int]:
    names: list[str] = []
    found: dict[tuple[str, str], int] = {}
    for number, line in text_lines(path):
        cells = line.split("\t")
        if number == 1:
            names = cells
            if not {"row", *QUESTIONS} <= set(names):
                raise DataError(f"{path}:1 must name the columns row, {', '.join(QUESTIONS)}")
            continue
        answer = dict(zip(names, cells, strict=False))
        if answer["row"] not in rows:
            raise DataError(f"{path}:{number}: the sample has no row {answer['row'][:20]!r}")
        for question in QUESTIONS:
            rating = answer.get(question, "").strip()
            if rating and rating not in map(str, RATINGS):
                raise DataError(f"{path}:{number}: {question} must be 1, 2 or 3, got {rating!r}")
            if rating:
                found[answer["row"], question] = int(rating)
    if not found:
        raise DataError(f"{path} has no answer")
    return found
