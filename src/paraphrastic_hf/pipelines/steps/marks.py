"""Steps that compare both sides without a model: terminal punctuation, numbers, copies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

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

AFTER_THE_END = " \t\r\n\"'”’»›)]}"  # characters that may follow the final mark
ENDS = {".": ".", "…": ".", "。": ".", "।": ".", "!": "!", "！": "!", "?": "?", "？": "?", "؟": "?"}
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class TerminalPunctuation(Step):
    """Whether the two sides end in different marks: 1 if they differ, else 0.

    The marks are a full stop or ellipsis, `!`, `?`, and no mark.

    Example:
        >>> TerminalPunctuation().score([{"reference": "is it?", "translation": "it is."}])
        [1]
    """

    name = "punctuation"
    measure = "terminal marks that differ"

    def score(self, rows: Sequence[Row]) -> list[int]:
        first, second = (map(terminal_mark, side) for side in sides(rows))
        return [int(a != b) for a, b in zip(first, second, strict=True)]


def terminal_mark(text: str) -> str:
    """Return the mark that ends a sentence: `.`, `!`, `?`, or an empty text.

    Example:
        >>> terminal_mark("“Is it?” "), terminal_mark("it is")
        ('?', '')
    """
    return ENDS.get(text.rstrip(AFTER_THE_END)[-1:], "")


@dataclass(frozen=True, kw_only=True)
class DifferentNumbers(Step):
    """Count of numbers, written in digits, that occur in only one of the two texts.

    Commas and points within numbers are ignored, so `1,000` equals `1000` and `7.5` equals `7,5`.

    Example:
        >>> row = {"reference": "7 of 1,000 in 1999", "translation": "seven of 1000 in 1998"}
        >>> DifferentNumbers().score([row])
        [3]
    """

    name = "numbers"
    measure = "numbers that differ"

    def score(self, rows: Sequence[Row]) -> list[int]:
        has_digit = _DIGIT.search
        return [
            _different(a, b) if has_digit(a) or has_digit(b) else 0
            for a, b in zip(*sides(rows), strict=True)
        ]


def _different(first: str, second: str) -> int:
    left, right = (Counter(map(_plain, _NUMBER.findall(text))) for text in (first, second))
    return ((left - right) + (right - left)).total()


def _plain(number: str) -> str:
    return number.replace(",", "").replace(".", "")


@dataclass(frozen=True, kw_only=True)
class Copy(Step):
    """Whether the translation copies another side: 1 or 0. Ignores case, white space and
    punctuation.

    Example:
        >>> Copy().score([{"reference": "a cat", "translation": "A cat!"}])
        [1]
    """

    at_most: float | None = argument(0.0, help="highest score of rows to keep")
    of: str = argument(REFERENCE, help="side to compare with", choices=(REFERENCE, SOURCE))

    @property
    def name(self) -> str:
        return f"copy_of_{self.of}"

    @property
    def measure(self) -> str:
        return f"a copy of the {self.of}"

    def score(self, rows: Sequence[Row]) -> list[int]:
        pairs = zip(column(rows, self.of), column(rows, TRANSLATION), strict=True)
        return [int(_same_words(a.lower(), b.lower())) for a, b in pairs]


def _same_words(first: str, second: str) -> bool:
    if first == second:
        return True
    # lazily, because most texts differ within the first words
    words = zip_longest(_WORD.finditer(first), _WORD.finditer(second))
    found = False
    for a, b in words:
        if a is None or b is None or a[0] != b[0]:
            return False
        found = True
    return found
