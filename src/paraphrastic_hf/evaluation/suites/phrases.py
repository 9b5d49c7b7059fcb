"""Similarity of phrases: bigrams, Annotated-PPDB and Pavlick's sample (thesis, 3.2 and 3.5.6)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.evaluation.measures.similarity import cosines, spearman
from paraphrastic_hf.evaluation.suite import Row, Suite, Task
from paraphrastic_hf.evaluation.suites.pairs import (
    corpus_rows,
    corpus_task,
    scored_pairs,
    scores_of,
)

PHRASE_TYPES = ("JN", "NN", "VN")
BIGRAMS = "bigrams"
PPDB = "PPDB"
SINGLE = "single ratings"
ANNOTATED = ("Annotated-PPDB dev", "Annotated-PPDB test", "Pavlick")


def _single_ratings(kind: str) -> Task:
    """Make a task that computes Spearman's rho x 100 over single ratings, not mean ratings."""

    def task(encoder: Any, data_dir: Path) -> list[Row]:
        rows = corpus_rows(data_dir, "bigrams", kind.lower())
        (cosine,) = cosines(encoder.encode, [scored_pairs(kind, BIGRAMS, rows)])
        ratings = [row["ratings"] for row in rows]
        repeated = np.repeat(cosine, [len(each) for each in ratings])
        score = spearman(repeated, np.concatenate(ratings))
        return [Row(BIGRAMS, kind, len(rows), {SINGLE: score})]

    return task


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    single = scores_of(rows, SINGLE, BIGRAMS, PHRASE_TYPES).values()
    means = scores_of(rows, "spearman", BIGRAMS, PHRASE_TYPES).values()
    return {
        **_bigrams(*single, average=float(np.mean([*single]))),
        "bigrams average, mean ratings": float(np.mean([*means])),
        **scores_of(rows, "spearman", PPDB, ANNOTATED),
    }


def _bigrams(*values: float, average: float) -> dict[str, float]:
    scores = {f"bigrams {kind}": value for kind, value in zip(PHRASE_TYPES, values, strict=True)}
    return {**scores, "bigrams average": average}


def _ppdb(annotated: float, pavlick: float | None = None) -> dict[str, float]:
    test = {"Annotated-PPDB test": annotated}
    return test if pavlick is None else {**test, "Pavlick": pavlick}


PHRASES = Suite(
    "Similarity of phrases: bigrams, Annotated-PPDB, Pavlick's sample of PPDB (3.2.2, 3.5.6)",
    "Spearman's rho x 100",
    {
        **{
            f"bigrams {kind}": corpus_task(
                "bigrams", kind.lower(), name=kind, group=BIGRAMS, measure="spearman"
            )
            for kind in PHRASE_TYPES
        },
        **{f"bigrams {kind}, {SINGLE}": _single_ratings(kind) for kind in PHRASE_TYPES},
        **{
            f"Annotated-PPDB {name}": corpus_task(
                "annotated_ppdb",
                split=split,
                name=f"Annotated-PPDB {name}",
                group=PPDB,
                measure="spearman",
            )
            for name, split in (("dev", "validation"), ("test", "test"))
        },
        "Pavlick": corpus_task("pavlick_ppdb", name="Pavlick", group=PPDB, measure="spearman"),
    },
    _headline,
    {
        "thesis PARAGRAM-PHRASE (Table 3)": _ppdb(53.5, 60.0),
        "thesis LSTM, no output gate (Table 3)": _ppdb(53.4, 61.3),
        "thesis PARAGRAM, tuned on WS353 (Tables 12, 13)": {
            **_bigrams(52.0, 41.0, 49.0, average=48.0),
            **_ppdb(43.0),
        },
        "thesis PARAGRAM, tuned on SL999 (Tables 3, 12, 13)": {
            **_bigrams(51.0, 36.0, 51.0, average=46.0),
            **_ppdb(40.4, 55.3),
        },
        "GloVe (Tables 3, 12, 13)": {
            **_bigrams(40.0, 46.0, 37.0, average=41.0),
            **_ppdb(25.3, 44.8),
        },
    },
    notes=(
        "Bigrams JN, NN, VN: each rating of a pair counts separately, as in the published file. "
        "The column spearman uses each pair's mean rating and is higher.",
        "The thesis tunes on Pavlick's sample except in the column of Table 3 shown here. It does "
        "not report Annotated-PPDB dev.",
        "Annotated-PPDB dev is not a test set: recipes select models by it (suite development).",
    ),
)
