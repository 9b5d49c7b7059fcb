"""What every step of making a corpus is: a score of each row, bounds, and what became of the rows.

A row is a dict of a reference, its back-translation, and whatever earlier steps have found out
about the two. A step scores many rows at once, since encoders and language models are fast on many
only; it writes its score into the column of its name, so nothing is computed twice, and rows whose
score is out of bounds go to the rejects with the reason (thesis, 4.3 and 4.5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from paraphrastic_hf.config.recipe import Bounds
from paraphrastic_hf.corpora.filters import Rejection

Row = dict[str, Any]
Score = Callable[[Sequence[Row]], Sequence[float | None]]  # a number for each row, or none

REFERENCE, TRANSLATION, SOURCE = "reference", "translation", "source"


class Step(Protocol):
    """A score of rows, and which scores are kept.

    Attributes:
        name: The column that holds the score, and what statistics call the step: `overlap`.
        measure: What is measured, for reasons: `trigram overlap`.
        bounds: The scores that are kept; `Bounds()` keeps every row and only writes the score.
    """

    @property
    def name(self) -> str: ...

    @property
    def measure(self) -> str: ...

    @property
    def bounds(self) -> Bounds: ...

    def score(self, rows: Sequence[Row]) -> Sequence[float | None]:
        """The score of each row, in order; None where there is nothing to measure, which passes."""


def judge(step: Step, score: float | None) -> Rejection | None:
    """Why a row with this score is left out by a step; None if it is kept.

    Args:
        step: The step that gave the score.
        score: What it measured, in the units of the step; None passes.

    Returns:
        The measure, the score and the bounds; None for a row that stays.
    """
    if score is None or step.bounds.allow(score):
        return None
    return Rejection(step.measure, score, step.bounds)
