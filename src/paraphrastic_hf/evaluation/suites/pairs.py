"""Tasks that correlate the cosine of two texts with a human score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.judged import Ranked
from paraphrastic_hf.evaluation.measures.similarity import cosines, score_suite
from paraphrastic_hf.evaluation.suite import Row

MEASURES = ("pearson", "spearman")


@dataclass(frozen=True)
class PairsTask:
    """A task of a suite on scored pairs.

    Attributes:
        read: Function from the folder of official files to datasets.
        measure: Correlation that the papers report, `pearson` or `spearman`. Results contain both.
        has_whole: Whether to also score all pairs of a group as one dataset.
        more: Function from the encoder and a dataset to additional scores by name.
    """

    read: Callable[[Path], Sequence[ScoredPairs]]
    measure: str = "pearson"
    has_whole: bool = False
    more: Callable[[Any, ScoredPairs], Mapping[str, float]] | None = None

    def datasets(self, data_dir: Path) -> list[ScoredPairs]:
        """Read the datasets, without empty ones."""
        suite = list(self.read(data_dir))
        if not any(map(len, suite)):
            raise DataError(f"{' and '.join(pairs.name for pairs in suite) or 'task'} has no pairs")
        return [pairs for pairs in suite if len(pairs)]

    def __call__(self, encoder: Any, data_dir: Path) -> list[Row]:
        suite = self.datasets(data_dir)
        result = score_suite(encoder.encode, suite)
        rows = [
            Row(each.group, each.name, each.pairs, {name: getattr(each, name) for name in MEASURES})
            for each in result.datasets + (result.groups if self.has_whole else [])
        ]
        if self.more is not None:
            for row, pairs in zip(rows, suite, strict=False):
                row.scores.update(self.more(encoder, pairs))
        return rows

    def judged(self, encoder: Any, data_dir: Path) -> list[Ranked]:
        """Return the results for each pair. Raises the same errors as calling the task."""
        suite = self.datasets(data_dir)
        return [
            Ranked(pairs.group, pairs.name, self.measure, cosine, np.asarray(pairs.scores))
            for pairs, cosine in zip(suite, cosines(encoder.encode, suite), strict=True)
        ]


def corpus_rows(
    data_dir: str | Path, corpus: str, config: str | None = None, *, split: str = "test"
) -> list[dict[str, Any]]:
    """Read the examples of one split of a corpus from the folder of official files."""
    return list(load_dataset(corpus, config, split, data_dir=data_dir, streaming=True))


def scored_pairs(name: str, group: str, rows: Sequence[Mapping[str, Any]]) -> ScoredPairs:
    first, second, scores = (
        [row[column] for row in rows] for column in ("sentence1", "sentence2", "score")
    )
    return ScoredPairs(name, group, first, second, scores)


def corpus_task(
    corpus: str,
    config: str | None = None,
    *,
    split: str = "test",
    name: str,
    group: str,
    measure: str = "pearson",
    more: Callable[[Any, ScoredPairs], Mapping[str, float]] | None = None,
) -> PairsTask:
    """Make a task from one split of a corpus. `measure` is `pearson` or `spearman`."""

    def read(data_dir: Path) -> list[ScoredPairs]:
        return [scored_pairs(name, group, corpus_rows(data_dir, corpus, config, split=split))]

    return PairsTask(read, measure, more=more)


def score_of(rows: Sequence[Row], measure: str, group: str, name: str) -> float:
    """Return the score of dataset `name` in `group`, or NaN if it is missing."""
    found = [
        row.scores.get(measure, np.nan) for row in rows if (row.group, row.name) == (group, name)
    ]
    return float(found[0]) if found else float("nan")
