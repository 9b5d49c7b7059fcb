"""What all steps share: bounds as keys of a recipe, and the columns of rows that they read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from paraphrastic_hf.config.recipe import Bounds, argument, check_bounds
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION, Row

TEXTS = (REFERENCE, TRANSLATION, SOURCE)


@dataclass(frozen=True, kw_only=True)
class BoundedStep:
    """A step whose bounds are keys of the recipe; a score on a bound is kept.

    Attributes:
        at_least: The smallest score that is kept; None for no such bound.
        at_most: The largest.

    Raises:
        RecipeError: The smallest is above the largest, or a number is out of its range or not
            finite.
    """

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
    def bounds(self) -> Bounds:
        """The scores that are kept."""
        return Bounds(self.at_least, self.at_most)


def column(rows: Sequence[Row], name: str) -> list[str]:
    """The texts of a column; what is None counts as the empty text.

    Raises:
        DataError: A row has no such column.
    """
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
