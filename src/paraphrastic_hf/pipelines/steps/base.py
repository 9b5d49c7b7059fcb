"""Base class of the steps that score and filter rows (thesis, 4.3 and 4.5.4).

A row is a dict with a reference, its back-translation, and the scores of earlier steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import Bounds, argument, check_bounds
from paraphrastic_hf.corpora.filters import Rejection
from paraphrastic_hf.errors import DataError, RecipeError

Row = dict[str, Any]
Score = Callable[[Sequence[Row]], Sequence[float | None]]  # a number or None for each row

REFERENCE, TRANSLATION, SOURCE = "reference", "translation", "source"


@dataclass(frozen=True, kw_only=True)
class Step:
    """Base of steps: a score of rows, with inclusive bounds that are keys of the recipe."""

    at_least: float | None = argument(None, help="lowest score of rows to keep")
    at_most: float | None = argument(None, help="highest score of rows to keep")

    def __post_init__(self) -> None:
        check_bounds(self)
        for name in ("at_least", "at_most"):
            bound = getattr(self, name)
            if bound is not None and not math.isfinite(bound):
                raise RecipeError(f"{name} must be finite, got {bound}. Omit it for no bound")
            if bound is not None and not self.limits.allow(bound):
                raise RecipeError(f"{name} must be {self.limits}, got {bound:g}")
        if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
            raise RecipeError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")

    pattern: ClassVar[str]  # of `name`, with keys of the recipe in braces
    measure: ClassVar[str] = ""  # the score in the reason of a rejection (default: `name`)

    @property
    def name(self) -> str:
        """Column of the score, and name of the step in statistics."""
        return self.pattern.format_map(vars(self))

    @property
    def limits(self) -> Bounds:
        """Lowest and highest possible score."""
        return Bounds()

    @cached_property
    def bounds(self) -> Bounds:
        return Bounds(self.at_least, self.at_most)

    def located(self, data_root: str | Path | None) -> Step:
        """Return a copy of the step whose file paths are resolved below the data root."""
        return self

    def score(self, rows: Sequence[Row]) -> Sequence[float | None]:
        """Return the score of each row, in order. Rows with score None are kept."""
        first, second = sides(rows)
        return [self.score_pair(a, b) for a, b in zip(first, second, strict=True)]

    def score_pair(self, first: str, second: str) -> float | None:
        """Return the score of the two sides of a row, for steps that score each row alone."""
        raise NotImplementedError

    def judge(self, score: float | None) -> Rejection | None:
        """Return the reason to reject a row with this score, or None to keep the row."""
        if score is None or self.bounds.allow(score):
            return None
        measure = self.measure.format_map(vars(self)) or self.name
        return Rejection(measure, score, self.bounds)


def column(rows: Sequence[Row], name: str) -> list[str]:
    try:
        return [row[name] or "" for row in rows]
    except KeyError:
        missing = next(row for row in rows if name not in row)
        raise DataError(
            f"A step reads the column {name!r}. The rows have only {', '.join(missing)}"
        ) from None


def sides(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    return column(rows, REFERENCE), column(rows, TRANSLATION)
