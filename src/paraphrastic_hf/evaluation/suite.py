"""What an evaluation suite is: tasks that give rows of scores, and the figures a table shows.

A suite is one file beside this one and a line in `evaluation/suites.py`. Running, keeping, tables
and plots are common to all (`evaluation/run.py`, `evaluation/report.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """Scores of one dataset.

    Attributes:
        group: What it is averaged with, such as `2012`.
        name: The dataset, such as `MSRpar`.
        size: Examples.
        scores: By measure, such as `pearson`, in the suite's unit.
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
        tasks: By name: from an encoder, anything with `encode(list of texts)`, and the folder of
            official files to rows. Rows of one group and name are joined. A task whose data is
            not there raises DataError, one that has no meaning for the encoder NotApplicableError:
            it is named and skipped, and the others run.
        headline: The few figures that stand for the rows, in the order of the table; NaN for one
            whose rows are not there.
        papers: Published systems and their figures, by the same names.
        notes: What a reader must know.
        is_kept: Whether finished tasks may be kept for a later run; times may not.
    """

    summary: str
    unit: str
    tasks: Mapping[str, Task]
    headline: Callable[[Sequence[Row]], dict[str, float]]
    papers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_kept: bool = True


def mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """Unweighted mean of a measure over the rows of a group, or all; NaN if there are none."""
    values = [row.scores[measure] for row in _with(rows, measure, group)]
    return float(np.mean(values)) if values else float("nan")


def weighted_mean_of(rows: Sequence[Row], measure: str, group: str | None = None) -> float:
    """The same, weighted by the rows' sizes."""
    chosen = _with(rows, measure, group)
    total = sum(row.size for row in chosen)
    return sum(row.scores[measure] * row.size for row in chosen) / total if total else float("nan")


def _with(rows: Sequence[Row], measure: str, group: str | None) -> list[Row]:
    return [row for row in rows if group in (None, row.group) and measure in row.scores]
