"""What every step of making a corpus is: a score of each row, and the bounds of rows that are kept.

A row is a dict of a reference, its back-translation, and the scores of earlier steps. A step scores
many rows at once, since encoders and language models are fast on many only. It writes its score
into the column of its name, so nothing is computed twice, and rows whose score is out of bounds go
to the rejects with the reason (thesis, 4.3 and 4.5.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.config.recipe import Bounds, argument, check_bounds
from paraphrastic_hf.corpora.filters import Rejection
from paraphrastic_hf.errors import DataError, RecipeError

Row = dict[str, Any]
Score = Callable[[Sequence[Row]], Sequence[float | None]]  # a number for each row, or none

REFERENCE, TRANSLATION, SOURCE = "reference", "translation", "source"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A score of rows, whose bounds are keys of the recipe; a score on a bound is kept."""

    at_least: float | None = argument(None, help="rows with a lower score are left out")
    at_most: float | None = argument(None, help="rows with a higher score are left out")

    def __post_init__(self) -> None:
        check_bounds(self)
        for name in ("at_least", "at_most"):
            bound = getattr(self, name)
            if bound is not None and not math.isfinite(bound):
                raise RecipeError(
                    f"{name} must be a finite number, got {bound}; leave it out for no such bound"
                )
        if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
            raise RecipeError(
                f"at_least {self.at_least:g} is above at_most {self.at_most:g}: no row would pass"
            )

    @property
    def name(self) -> str:
        """The column of the score, and what statistics call the step."""
        raise NotImplementedError

    @property
    def measure(self) -> str:
        """What is measured, for reasons: `trigram overlap`."""
        raise NotImplementedError

    @property
    def bounds(self) -> Bounds:
        """The scores that are kept."""
        return Bounds(self.at_least, self.at_most)

    def score(self, rows: Sequence[Row]) -> Sequence[float | None]:
        """The score of each row, in order; None where there is nothing to measure, which passes."""
        raise NotImplementedError

    def judge(self, score: float | None) -> Rejection | None:
        """Why a row with this score is left out; None if it is kept."""
        if score is None or self.bounds.allow(score):
            return None
        return Rejection(self.measure, score, self.bounds)


def column(rows: Sequence[Row], name: str) -> list[str]:
    """The texts of a column; what is None counts as the empty text."""
    try:
        return [row[name] or "" for row in rows]
    except KeyError:
        missing = next(row for row in rows if name not in row)
        raise DataError(
            f"a step reads the column {name!r}, and rows have {', '.join(missing)}"
        ) from None


def sides(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The references and the translations."""
    return column(rows, REFERENCE), column(rows, TRANSLATION)
