"""Cut a corpus into tenths by a score, to train on each tenth (thesis, 4.5.4, Table 29)."""

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
    """One part of a corpus: a TSV file with its pairs, or with a sample of `written` rows."""

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

    Rows without a score are in no part. The corpus is read twice, and only the scores are kept in
    memory. At most `most` rows of each part are written, sampled at random (thesis: a million).
    """
    folder = Path(folder)
    scores = array("d")
    for some in batches():
        scores.extend(math.nan if value is None else value for value in score(some))
    values = np.frombuffer(scores) if scores else np.zeros(0)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]  # NaN comes last
    if len(order) < parts:
        raise DataError(f"{parts} parts require {parts} rows with a score, got {len(order)}")
    choice = np.random.default_rng(seed)
    part_of = np.full(len(values), -1, np.int16)
    made = []
    for number, chosen in enumerate(np.array_split(order, parts)):
        low, high = float(values[chosen[0]]), float(values[chosen[-1]])
        count = len(chosen)
        if most is not None and most < len(chosen):
            chosen = choice.choice(chosen, most, replace=False)
        part_of[chosen] = number
        path = folder / f"part-{number + 1:0{len(str(parts))}d}.tsv"
        made.append(Part(path, low, high, count, len(chosen)))
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = []
        for part in made:
            partial = stack.enter_context(replacing(output_file(part.path), is_shared=True))
            files.append(stack.enter_context(partial.open("w", encoding="utf-8")))
        rows = (row for some in batches() for row in some)
        for row, number in zip(rows, part_of.tolist(), strict=True):
            if number >= 0:
                texts = (" ".join((row[s] or "").split()) for s in (REFERENCE, TRANSLATION))
                files[number].write("\t".join(texts) + "\n")
    return made
