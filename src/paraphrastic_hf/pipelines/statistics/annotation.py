"""Samples of a corpus for people to rate, and ratings by score bin (thesis, 4.3.2, Table 27)."""

import html
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import replacing
from paraphrastic_hf.io.lines import number_in, text_lines
from paraphrastic_hf.pipelines.steps.base import REFERENCE, TRANSLATION, Row, Score
from paraphrastic_hf.pipelines.steps.ngrams import NgramOverlap

EDGES = (-0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # Table 27
OF_A_BIN = 100  # size of a bin's sample in Table 27
PAGE_FILE, TABLE_FILE, KEY_FILE = "page.html", "rows.tsv", "key.tsv"
QUESTIONS = ("paraphrase", "fluency")
RATINGS = (1, 2, 3)
TABLE = ("row", REFERENCE, TRANSLATION, *QUESTIONS)
KEY = ("row", "low", "high", "score", "count", "overlap", "overlap_deviation")


@dataclass
class Bin:
    """Rows with scores in (low, high]: their number, and a random sample with scores."""

    low: float
    high: float
    count: int = 0
    sample: list[tuple[Row, float]] = field(default_factory=list)
    overlap: tuple[float, float] = (math.nan, math.nan)  # trigrams of the sample, mean, deviation
    ratings: dict[str, list[int]] = field(default_factory=dict)  # counts of 1, 2, 3 by question

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g}]"


def fill_bins(
    batches: Iterable[Sequence[Row]],
    score: Score,
    *,
    edges: Sequence[float] = EDGES,
    of_a_bin: int = OF_A_BIN,
    seed: int = 1,
) -> tuple[list[Bin], int]:
    """Return bins of the rows of a corpus, and the number of rows in no bin or without score."""
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise DataError(f"edges must be two or more ascending numbers, got {list(edges)}")
    bins = [Bin(low, high) for low, high in pairwise(edges)]
    choice = random.Random(seed)
    outside = 0
    for rows in batches:
        scores = [math.nan if value is None else value for value in score(rows)]
        places = np.searchsorted(np.asarray(edges), scores, side="left") - 1
        for row, value, place in zip(rows, scores, places.tolist(), strict=True):
            if not edges[0] < value <= edges[-1]:
                outside += 1
                continue
            chosen = bins[place]
            chosen.count += 1
            if len(chosen.sample) < of_a_bin:
                chosen.sample.append((row, value))
            elif (slot := choice.randrange(chosen.count)) < of_a_bin:
                chosen.sample[slot] = (row, value)
    for each in bins:
        overlaps = NgramOverlap().score([row for row, _ in each.sample])
        if overlaps:
            each.overlap = float(np.mean(overlaps)), float(np.std(overlaps))
    return bins, outside


def sampled(bins: Sequence[Bin], score: Score) -> list[float]:
    """Return the mean of another score over the sample of each bin. NaN for an empty sample."""
    means = []
    for each in bins:
        found = score([row for row, _ in each.sample]) if each.sample else []
        known = [value for value in found if value is not None]
        means.append(float(np.mean(known)) if known else math.nan)
    return means


def refuse_sample(folder: str | Path) -> None:
    """Raise DataError if a folder contains a sample, which must not be overwritten."""
    if (Path(folder) / KEY_FILE).exists():
        raise DataError(f"{folder} contains a sample, perhaps with answers. Choose another folder")


def write_sample(bins: Sequence[Bin], folder: str | Path, *, seed: int = 1) -> int:
    """Write the rows of all bins in random order, without scores, for people to rate: as a form
    that saves answers (`page.html`) and as a table to fill in (`rows.tsv`). `key.tsv` has the bin
    of each row, which raters must not see.
    """
    folder = Path(folder)
    refuse_sample(folder)
    rows = [(each, row, score) for each in bins for row, score in each.sample]
    if not rows:
        raise DataError("No row has a score within the bins. Choose other --bins")
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
    page = _page(pairs)
    for name, text in ((PAGE_FILE, page), (TABLE_FILE, _lines(table)), (KEY_FILE, _lines(key))):
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    return len(rows)


def read_answers(folder: str | Path, files: Sequence[str | Path]) -> tuple[list[Bin], float]:
    """Return the ratings by bin, and the share of equal ratings of two raters (NaN without any)."""
    key = _read_key(Path(folder) / KEY_FILE)
    answers = [_read_person(Path(file), set(key)) for file in files]
    found: dict[tuple[float, ...], Bin] = {}
    for low, high, _, count, mean, deviation in sorted(key.values()):
        empty = {question: [0, 0, 0] for question in QUESTIONS}
        each = Bin(low, high, int(count), overlap=(mean, deviation), ratings=empty)
        found.setdefault((low, high), each)
    for person in answers:
        for (row, question), rating in person.items():
            found[key[row][:2]].ratings[question][rating - 1] += 1
    equal: Counter[bool] = Counter()
    for number, person in enumerate(answers):
        for other in answers[number + 1 :]:
            equal.update(person[place] == other[place] for place in person.keys() & other.keys())
    return list(found.values()), equal[True] / equal.total() if equal else float("nan")


def _page(pairs: Sequence[tuple[str, str]]) -> str:
    rows = []
    for number, texts in enumerate(pairs, 1):
        rows.append(f'<article id="{number}">')
        rows += [f"<p>{html.escape(text)}</p>" for text in texts]
        for question in QUESTIONS:
            boxes = "".join(
                f'<label><input type="radio" name="{question} {number}" value="{rating}"> '
                f"{rating}</label>"
                for rating in RATINGS
            )
            rows.append(f"<fieldset><legend>{question}</legend>{boxes}</fieldset>")
        rows.append("</article>\n")
    page = resources.files(__package__).joinpath(PAGE_FILE).read_text(encoding="utf-8")
    return page.replace("COUNT", str(len(pairs))).replace("ROWS", "".join(rows))


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _read_key(path: Path) -> dict[str, tuple[float, ...]]:
    if not path.is_file():
        raise DataError(f"{path} does not exist. Give a folder that `corpus sample` wrote")
    return {
        row["row"]: tuple(number_in(row[name], place) for name in KEY[1:])
        for place, row in _table(path, KEY)
    }


def _read_person(path: Path, rows: set[str]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for place, answer in _table(path, ("row", *QUESTIONS)):
        if answer["row"] not in rows:
            raise DataError(f"{place} rates {answer['row'][:20]!r}, not a row of the sample")
        for question in QUESTIONS:
            rating = answer[question].strip()
            if rating and rating not in map(str, RATINGS):
                raise DataError(f"{place}: {question} must be 1, 2 or 3, got {rating!r}")
            if rating:
                found[answer["row"], question] = int(rating)
    if not found:
        raise DataError(f"{path} contains no answers")
    return found


def _table(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a TSV file with a header. Missing last cells are empty."""
    names: list[str] = []
    for number, line in text_lines(path):
        cells = line.split("\t")
        if number > 1:
            cells += [""] * (len(names) - len(cells))
            yield f"{path}:{number}", dict(zip(names, cells, strict=False))
        elif set(columns) <= set(cells):
            names = cells
        else:
            raise DataError(f"{path}:1 must have the columns {', '.join(columns)}")
