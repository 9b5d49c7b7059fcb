"""Tasks that correlate the cosine of two texts with a human score.

`evaluation/significance.py` compares two models on the pairs of such a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.data.load import load_dataset
from paraphrastic_hf.data.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.similarity import score_suite
from paraphrastic_hf.evaluation.suite import Row

WHOLE = "all pairs"  # of a group, scored together


@dataclass(frozen=True)
class PairsTask:
    """A task of a suite that is a list of scored pairs.

    Attributes:
        read: The folder of the official files to datasets.
        measure: The papers' correlation, `pearson` or `spearman`; rows have both.
        has_whole: Whether all pairs of a group are scored together too.
        more: Further scores of a dataset, from the encoder and the pairs.
    """

    read: Callable[[Path], Sequence[ScoredPairs]]
    measure: str = "pearson"
    has_whole: bool = False
    more: Callable[[Any, ScoredPairs], Mapping[str, float]] | None = None

    def datasets(self, data_dir: Path) -> list[ScoredPairs]:
        """The datasets that have pairs.

        Raises:
            DataError: None has any, or a file is missing or damaged.
        """
        suite = list(self.read(data_dir))
        if not any(map(len, suite)):
            raise DataError(f"{' and '.join(pairs.name for pairs in suite) or 'it'} has no pairs")
        return [pairs for pairs in suite if len(pairs)]

    def __call__(self, encoder: Any, data_dir: Path) -> list[Row]:
        """Score the datasets.

        Raises:
            DataError: A file is missing or damaged.
            ModelError: The vectors have the wrong shape or are not finite.
        """
        suite = self.datasets(data_dir)
        result = score_suite(encoder.encode, suite)
        rows = []
        for dataset, pairs in zip(result.datasets, suite, strict=True):
            scores = {"pearson": dataset.pearson, "spearman": dataset.spearman}
            if self.more is not None:
                scores |= self.more(encoder, pairs)
            rows.append(Row(dataset.group, dataset.name, dataset.pairs, scores))
        if self.has_whole:
            rows += [
                Row(g.group, WHOLE, g.pairs, {"pearson": g.all_pearson, "spearman": g.all_spearman})
                for g in result.groups
            ]
        return rows


def corpus_rows(
    data_dir: Path, corpus: str, config: str | None = None, *, split: str = "test"
) -> list[dict[str, Any]]:
    """The rows of a split of a corpus, from the folder of the official files.

    Raises:
        DataError: A file is missing or malformed.
    """
    return list(load_dataset(corpus, config, split, data_dir=data_dir, streaming=True))


def scored_pairs(name: str, group: str, rows: Sequence[Mapping[str, Any]]) -> ScoredPairs:
    """Rows with `sentence1`, `sentence2` and `score` as one dataset."""
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
    """The task of one split of a corpus.

    Args:
        corpus: As `load_dataset` calls it.
        config: Its configuration.
        split: Its split.
        name: Of the row.
        group: Of the row.
        measure: As in `PairsTask`.
        more: As in `PairsTask`.
    """

    def read(data_dir: Path) -> list[ScoredPairs]:
        return [scored_pairs(name, group, corpus_rows(data_dir, corpus, config, split=split))]

    return PairsTask(read, measure, more=more)


def score_of(rows: Sequence[Row], measure: str, group: str, name: str) -> float:
    """A measure of one row; NaN if it is not there."""
    found = [
        row.scores.get(measure, np.nan) for row in rows if (row.group, row.name) == (group, name)
    ]
    return float(found[0]) if found else float("nan")
