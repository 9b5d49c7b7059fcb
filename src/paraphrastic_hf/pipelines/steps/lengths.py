"""Steps that count words (thesis, 4.5.4), or compare the lengths of both sides (2017 paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.pipelines.steps.base import (
    REFERENCE,
    SOURCE,
    TRANSLATION,
    Row,
    Step,
    column,
    sides,
)

SHORTER, LONGER = "shorter", "longer"


@dataclass(frozen=True, kw_only=True)
class CountWords(Step):
    """Number of words of a side, split at white space. The thesis keeps at most 30 (4.5.4).

    Example:
        >>> CountWords(of="longer").score([{"reference": "a cat", "translation": "cat"}])
        [2]
    """

    of: str = argument(
        LONGER,
        help="side whose words are counted: a named side, or the longer or shorter of reference "
        "and translation",
        choices=(LONGER, SHORTER, REFERENCE, TRANSLATION, SOURCE),
    )

    @property
    def name(self) -> str:
        return f"{self.of}_words"

    @property
    def measure(self) -> str:
        return f"words of the {self.of}{' side' * (self.of in (SHORTER, LONGER))}"

    def score(self, rows: Sequence[Row]) -> list[int]:
        if self.of not in (SHORTER, LONGER):
            return [len(text.split()) for text in column(rows, self.of)]
        choose = min if self.of == SHORTER else max
        first, second = sides(rows)
        counts = ([len(text.split()) for text in side] for side in (first, second))
        return list(map(choose, *counts))


@dataclass(frozen=True, kw_only=True)
class LengthRatio(Step):
    """Words of the longer side divided by words of the shorter side. Infinite if one side is empty.

    Example:
        >>> LengthRatio().score([{"reference": "a cat sat down", "translation": "a cat"}])
        [2.0]
    """

    name = "length_ratio"
    measure = "words of the longer side per word of the shorter"

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return the ratio of each row, 1 or more, or None if both texts are empty."""
        first, second = sides(rows)
        return [_ratio(len(a.split()), len(b.split())) for a, b in zip(first, second, strict=True)]


def _ratio(first: int, second: int) -> float | None:
    longer, shorter = (first, second) if first > second else (second, first)
    return longer / shorter if shorter else math.inf if longer else None
