"""What an evaluation suite is: tasks that score datasets, and the few figures that stand for them.

A suite is one file beside this one and a line in `evaluation/registry.py`. Running, keeping, tables
and plots are common to all (`evaluation/run.py`, `evaluation/report.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SIMILARITY, CLASSIFICATION = "sentence-similarity", "text-classification"  # tasks of the Hub


@dataclass(frozen=True)
class Row:
    """The scores of one dataset, which are one row of a table.

    Attributes:
        group: The datasets that it is averaged with, such as `2012`.
        name: The name of the dataset, such as `MSRpar`.
        size: Number of examples.
        scores: The scores by measure, such as `pearson`, in the unit of the suite.
    """

    group: str
    name: str
    size: int
    scores: dict[str, float]


Task = Callable[[Any, Path], Sequence[Row]]


@dataclass(frozen=True)
class Suite:
    """One evaluation.

    Attributes:
        summary: What it measures, in a line, with the sections of the papers.
        unit: What the numbers of the table are.
        tasks: Functions by name. Each takes an encoder, which is any object with
            `encode(list of texts)`, and the folder of official files, and gives the scores of
            datasets. Scores of one group and name, by several tasks, are joined. A task whose data
            is missing raises DataError, and one that has no meaning for the encoder
            NotApplicableError: the report names it, and the others run.
        headline: A function from the scores of all datasets to the few figures that stand for
            them, in the order of the table; NaN for a figure whose datasets are missing.
        papers: Published systems and their figures, by the same names.
        notes: What a reader must know.
        is_kept: Whether finished tasks may be kept for a later run; measured times may not.
        hub_task: Task of the Hub that the figures are published under; None to publish none, such
            as times and scores that a model is chosen by.
    """

    summary: str
    unit: str
    tasks: Mapping[str, Task]
    headline: Callable[[Sequence[Row]], dict[str, float]]
    papers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_kept: bool = True
    hub_task: str | None = SIMILARITY


def mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """Average a measure over the datasets of a group, or over all; NaN if there are none.

    Args:
        measure: The name of the score, such as `pearson`; datasets without it do not count.
        group: The group; None for all.
    """
    values = [row.scores[measure] for row in _with(rows, measure, group)]
    return float(np.mean(values)) if values else float("nan")


def weighted_mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """Average a measure as `mean_of` does, with each dataset weighted by its number of examples."""
    chosen = _with(rows, measure, group)
    total = sum(row.size for row in chosen)
    return sum(row.scores[measure] * row.size for row in chosen) / total if total else float("nan")


def _with(rows: Sequence[Row], measure: str, group: str | None) -> list[Row]:
    return [row for row in rows if group in (None, row.group) and measure in row.scores]
