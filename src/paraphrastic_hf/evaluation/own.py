"""Evaluation on your own pairs. The values of the pairs determine the measures:

* Scores (any numbers): Pearson's r and Spearman's rho.
* Labels (0 and 1 only): average precision, and accuracy at the best threshold.
* No values: retrieval of a pair's second text among all second texts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.measures.judged import Judged, OfDataset, Ranked, best_threshold
from paraphrastic_hf.evaluation.measures.similarity import Encode, cosines
from paraphrastic_hf.evaluation.run import Results, run_suite
from paraphrastic_hf.evaluation.suite import Row, Suite
from paraphrastic_hf.io.pairs import read_table
from paraphrastic_hf.metrics.resampling import confidence_interval
from paraphrastic_hf.mining.neighbors import nearest
from paraphrastic_hf.mining.vectors import UnitRows

SCORED, LABELED, RETRIEVAL = "scored pairs", "labeled pairs", "retrieval pairs"
MEASURES = {SCORED: ("pearson", "spearman"), LABELED: ("average precision", "accuracy")}
NOTES = {
    SCORED: (),
    LABELED: ("accuracy: at the best cosine threshold (x 100), chosen on these pairs.",),
    RETRIEVAL: ("Each distinct first text is a query, searched among all distinct second texts.",),
}

DEPTH = 10  # number of retrieved texts that count


@dataclass(frozen=True)
class OwnPairs(ScoredPairs):
    """Your own pairs. Their group is a key of `NOTES`. Retrieval pairs have no scores."""

    taken: str = ""


def evaluate_pairs(
    encoder: Any,
    pairs: str | Path | Iterable[Any] | OwnPairs,
    *,
    columns: Sequence[str] | None = None,
    name: str | None = None,
    samples: int = 1000,
    seed: int = 1,
) -> Results:
    """Score any object with `encode(list[str])` on your own pairs.

    Args:
        encoder: A `SentenceEncoder`, a `SentenceTransformer`, or any object whose `encode` returns
            one vector for each text.
        pairs: A file of pairs (TSV, CSV, JSON, parquet), or rows `(text, text)` or `(text, text,
            value)`. If all values are 0 or 1, they are labels, otherwise scores. Without values,
            the second text of a row is the answer to the first text.
        columns: Columns of the two texts and, if any, the value, by name or by number from 1. By
            default they are detected.
        name: Name of the encoder in the report.
        samples: Number of resamples of the pairs for the 95 % intervals, 1 or more.
        seed: Seed of the resamples.

    Returns:
        Results as from `evaluate`. `headline` has figures x 100: `pearson` and `spearman` for
        scores, `average precision` and `accuracy` (at the best threshold) for labels, and
        `accuracy@1`, `accuracy@5`, `MRR@10` and `nDCG@10` for retrieval. `rows` adds the 95 %
        intervals, `low` and `high`.

    Raises:
        DataError: If the file is missing or damaged, or a value is not a finite number.
        ModelError: If `encode` does not return finite vectors.
        TypeError: If `encoder` is a name instead of a loaded encoder.

    Example:
        >>> from paraphrastic_hf import SentenceEncoder
        >>> encoder = SentenceEncoder.from_pretrained("tiny")
        >>> rows = [("a cat", "a kitten", 1), ("a cat", "the tax law", 0), ("hello", "hi", 1)]
        >>> evaluate_pairs(encoder, rows)["headline"]
        {'average precision': 100.0, 'accuracy': 100.0}
    """
    own = pairs if isinstance(pairs, OwnPairs) else read_own_pairs(pairs, columns)
    return run_suite(encoder, own.name, _suite(own, samples, seed), Path(own.name), name=name)


def read_own_pairs(
    pairs: str | Path | Iterable[Any], columns: Sequence[str] | None = None
) -> OwnPairs:
    """Read your own pairs, with the arguments of `evaluate_pairs`."""
    if isinstance(pairs, (str, Path)):
        name = Path(pairs).name
        value = "" if columns is None else None if len(columns) == 2 else columns[2]
        table = read_table(pairs, columns=columns and columns[:2], value=value)
        texts, values, layout = table.pairs, table.values or [], table.layout
        taken = layout.describe() + (f", the values in {layout.value}" if values else "")
    else:
        name, taken = "pairs", ""
        rows = [tuple(row.values()) if isinstance(row, Mapping) else tuple(row) for row in pairs]
        if {len(row) for row in rows} not in ({2}, {3}):
            raise DataError("Either all pairs or none must have a value")
        texts, values = [row[:2] for row in rows], [row[2] for row in rows if len(row) > 2]
    first, second = (list(side) for side in zip(*texts, strict=True))
    scores = [_number(value, name) for value in values]
    kind = RETRIEVAL if not scores else LABELED if set(scores) <= {0, 1} else SCORED
    return OwnPairs(name, kind, first, second, scores, taken)


def judge(encode: Encode, pairs: OwnPairs) -> list[OfDataset]:
    """Return an encoder's results on each pair, for every measure, the main measure first."""
    if pairs.group == RETRIEVAL:
        found = retrieval_scores(encode, pairs.first, pairs.second)
        return [
            Judged(RETRIEVAL, pairs.name, measure, values[None], np.ones((1, len(values))))
            for measure, values in found.items()
        ]
    (cosine,) = cosines(encode, [pairs])
    gold = np.asarray(pairs.scores)
    return [
        Ranked(pairs.group, pairs.name, measure, cosine, gold) for measure in MEASURES[pairs.group]
    ]


def retrieval_scores(
    encode: Encode, first: Sequence[str], second: Sequence[str]
) -> dict[str, np.ndarray]:
    """Score each distinct first text as a query, (queries,), 0 to 1.

    Its answers are the second texts of its pairs. All second texts are ranked by cosine. A query
    without known tokens finds nothing. `accuracy@1` and `accuracy@5`: whether an answer is among
    the first 1 or 5 results. `MRR@10`: 1 / rank of the first answer. `nDCG@10`: gain of the answers
    among the first ten results, divided by the highest possible gain.
    """
    queries, answers = (
        {text: i for i, text in enumerate(dict.fromkeys(s))} for s in (first, second)
    )
    vectors = [checked_vectors(encode(list(side)), len(side)) for side in (queries, answers)]
    sides = UnitRows(vectors[0], name="queries"), UnitRows(vectors[1], name="answers")
    gold = {(queries[a], answers[b]) for a, b in zip(first, second, strict=True)}
    is_hit = np.zeros((len(queries), DEPTH))
    for row, ids in zip(sides[0].rows, nearest(*sides, DEPTH)[0].ids, strict=True):
        is_hit[row, : len(ids)] = [(row, sides[1].rows[i]) in gold for i in ids]
    places = np.arange(1, DEPTH + 1)
    gains = 1 / np.log2(places + 1)
    wanted = np.bincount([query for query, _ in gold])
    return {
        "accuracy@1": is_hit[:, 0],
        "accuracy@5": is_hit[:, :5].max(1),
        "MRR@10": (is_hit / places).max(1),
        "nDCG@10": is_hit @ gains / gains.cumsum()[np.minimum(wanted, DEPTH) - 1],
    }


def _suite(pairs: OwnPairs, samples: int, seed: int) -> Suite:
    def rows(encoder: Any, _: Path) -> list[Row]:
        found = []
        for each in judge(encoder.encode, pairs):
            at = confidence_interval(each, samples=samples, seed=seed)
            scores = {"score": at.mean, "low": at.low, "high": at.high}
            if isinstance(each, Ranked) and each.measure == "accuracy":
                scores["threshold"] = 100 * best_threshold(each)
            found.append(Row(pairs.name, each.measure, len(each), scores))
        return found

    about = f"low, high: 95 % interval by {counted(samples, 'resample')} of the pairs, seed {seed}."
    return Suite(
        f"{pairs.name}: {counted(len(pairs.first), pairs.group.removesuffix('s'))}"
        + (pairs.taken and f"; {pairs.taken}"),
        "x 100",
        {pairs.name: rows},
        lambda found: {row.name: row.scores["score"] for row in found},
        notes=(about, *NOTES[pairs.group]),
        is_kept=False,
    )


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            f"{name}: the value {value!r} is not a number. Scores are numbers, labels are 0 or "
            "1. To leave out this column, name only the two text columns"
        )
    return number
