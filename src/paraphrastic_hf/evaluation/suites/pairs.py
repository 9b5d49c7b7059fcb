"""Tasks that correlate the cosine of two texts with a human score."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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

More = Callable[[Any, ScoredPairs], Mapping[str, float]]


@dataclass(frozen=True)
class PairsTask:
    """A task of a suite on scored pairs, which `read` reads from the folder of official files."""

    read: Callable[[Path], Sequence[ScoredPairs]]
    measure: str = "pearson"  # what the papers report, or `spearman`. Results contain both.
    has_whole: bool = False  # whether to also score all pairs of a group as one dataset
    more: More | None = None  # additional scores by name

    def datasets(self, data_dir: Path) -> list[ScoredPairs]:
        """Read the datasets, without empty ones."""
        suite = list(self.read(data_dir))
        if not any(map(len, suite)):
            raise DataError(f"{' and '.join(pairs.name for pairs in suite) or 'task'} has no pairs")
        return [pairs for pairs in suite if len(pairs)]

    def __call__(self, encoder: Any, data_dir: Path) -> list[Row]:
        suite = self.datasets(data_dir)
        rows = score_suite(encoder.encode, suite, has_whole=self.has_whole)
        if self.more is not None:
            for row, pairs in zip(rows, suite, strict=False):
                row.scores.update(self.more(encoder, pairs))
        return rows

    def judged(self, encoder: Any, data_dir: Path) -> list[Ranked]:
        """Return the results for each pair."""
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
    """Make a task from one split of a corpus."""

    def read(data_dir: Path) -> list[ScoredPairs]:
        return [scored_pairs(name, group, corpus_rows(data_dir, corpus, config, split=split))]

    return PairsTask(read, measure, more=more)


def scores_of(
    rows: Sequence[Row], measure: str, group: str, names: Iterable[str]
) -> dict[str, float]:
    """Return the scores of datasets of a group by name, NaN if missing."""
    found = {row.name: row.scores.get(measure, math.nan) for row in rows if row.group == group}
    return {name: found.get(name, math.nan) for name in names}
