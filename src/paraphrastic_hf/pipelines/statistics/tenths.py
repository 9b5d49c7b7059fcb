"""Cut a corpus into tenths by a score, to train on each tenth (thesis, 4.5.4, Table 29)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import output_file, replacing
from paraphrastic_hf.pipelines.steps.base import REFERENCE, TRANSLATION, Row, Score

PARTS = 10
Batches = Callable[[], Iterable[Sequence[Row]]]


@dataclass(frozen=True)
class Part:
    """One part of a corpus.

    Attributes:
        path: TSV file with the pairs, or a sample of them.
        rows: Number of rows in the part.
        written: Number of rows in the file.
    """

    path: Path
    low: float
    high: float
    rows: int
    written: int


def write_tenths(
    batches: Batches,
    score: Score,
    folder: str | Path,
    *,
    parts: int = PARTS,
    most: int | None = None,
    seed: int = 1,
) -> list[Part]:
    """Split a corpus into tenths by score: `part-01.tsv` (lowest scores) to `part-10.tsv`.

    The sizes of the parts differ by at most one row. Rows without a score are in no part. The
    corpus is read twice, and only the scores are kept in memory.

    Args:
        most: Maximum number of rows to write per part, sampled at random. All if None. The thesis
            takes a million.
    """
    folder = Path(folder)
    scores = array("d")
    for rows in batches():
        scores.extend(math.nan if value is None else value for value in score(rows))
    values = np.frombuffer(scores) if scores else np.zeros(0)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]  # NaN comes last
    if len(order) < parts:
        raise DataError(f"{parts} parts require {parts} rows with a score, got {len(order)}")
    choice = np.random.default_rng(seed)
    part_of = np.full(len(values), -1, np.int16)
    made = []
    for number, chosen in enumerate(np.array_split(order, parts)):
        low, high = float(values[chosen[0]]), float(values[chosen[-1]])
        rows_in_it = len(chosen)
        if most is not None and most < len(chosen):
            chosen = choice.choice(chosen, most, replace=False)
        part_of[chosen] = number
        path = folder / f"part-{number + 1:0{len(str(parts))}d}.tsv"
        made.append(Part(path, low, high, rows_in_it, len(chosen)))
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = [
            stack.enter_context(
                stack.enter_context(replacing(output_file(part.path), is_shared=True)).open(
                    "w", encoding="utf-8"
                )
            )
            for part in made
        ]
        place = 0
        for rows in batches():
            for row in rows:
                number = part_of[place]
                place += 1
                if number >= 0:
                    texts = (" ".join((row[s] or "").split()) for s in (REFERENCE, TRANSLATION))
                    files[number].write("\t".join(texts) + "\n")
    return made
