"""Evaluation suites: tasks that score datasets, and the main figures computed from them.

Each suite has its own file in `suites/` and a line in `evaluation/registry.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SIMILARITY, CLASSIFICATION = "sentence-similarity", "text-classification"  # Hub tasks


@dataclass(frozen=True)
class Row:
    """The scores of one dataset, a row of the table.

    Datasets of a group, such as `2012`, are averaged together.
    """

    group: str
    name: str
    size: int
    scores: dict[str, float]  # in the unit of the suite, by measure


Task = Callable[[Any, Path], Sequence[Row]]


@dataclass(frozen=True)
class Suite:
    """One evaluation.

    A task takes an encoder (any object with `encode(list of texts)`) and the folder of official
    files, and returns scores. Scores with equal group and name are merged. A task raises DataError
    if its data is missing, and NotApplicableError if it does not suit the encoder. Then only this
    task is skipped.
    """

    summary: str  # purpose in one line, with the sections of the papers
    unit: str  # of the scores in the table
    tasks: Mapping[str, Task]
    # Main figures from the scores of all datasets, in the order of the table. NaN if incomplete.
    headline: Callable[[Sequence[Row]], dict[str, float]]
    # Figures of published systems, named as in `headline`.
    papers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # scope and method, shown in the report
    is_kept: bool = True  # whether finished tasks may be cached. False for measured times.
    hub_task: str | None = SIMILARITY  # Hub task of the published figures, None for no publication


def mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """Average a measure over the datasets of a group (default: all). NaN without datasets.

    Datasets that lack the measure (for example `pearson`) are left out.
    """
    values = [row.scores[measure] for row in _with(rows, measure, group)]
    return float(np.mean(values)) if values else float("nan")


def weighted_mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """Average a measure over a group, weighted by the number of examples of each dataset."""
    chosen = _with(rows, measure, group)
    total = sum(row.size for row in chosen)
    return sum(row.scores[measure] * row.size for row in chosen) / total if total else float("nan")


def _with(rows: Sequence[Row], measure: str, group: str | None) -> list[Row]:
    return [row for row in rows if group in (None, row.group) and measure in row.scores]
