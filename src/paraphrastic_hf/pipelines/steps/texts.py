"""Steps that compare both sides without a model: lengths, terminal punctuation, numbers, copies."""

import math
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

SHORTER, LONGER = "shorter", "longer"
AFTER_THE_END = " \t\r\n\"'”’»›)]}"  # characters that may follow the final mark
ENDS = {".": ".", "…": ".", "。": ".", "।": ".", "!": "!", "！": "!", "?": "?", "？": "?", "؟": "?"}
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class CountWords(Step):
    """Number of words of a side, split at white space. The thesis keeps at most 30 (4.5.4)."""

    of: str = argument(
        LONGER,
        help="side whose words are counted: a named side, or the longer or shorter of reference "
        "and translation",
        choices=(LONGER, SHORTER, REFERENCE, TRANSLATION, SOURCE),
    )

    pattern = "{of}_words"

    def score(self, rows: Sequence[Row]) -> list[int]:
        if self.of not in (SHORTER, LONGER):
            return [len(text.split()) for text in column(rows, self.of)]
        choose = min if self.of == SHORTER else max
        counts = ([len(text.split()) for text in side] for side in sides(rows))
        return list(map(choose, *counts))


@dataclass(frozen=True, kw_only=True)
class LengthRatio(Step):
    """Words of the longer side per word of the shorter (2017 paper): infinite if one is empty, None
    if both are.
    """

    pattern = "length_ratio"
    measure = "words of the longer side per word of the shorter"

    def score_pair(self, first: str, second: str) -> float | None:
        shorter, longer = sorted((len(first.split()), len(second.split())))
        return longer / shorter if shorter else math.inf if longer else None


@dataclass(frozen=True, kw_only=True)
class TerminalPunctuation(Step):
    """Whether the two sides end in different marks (`.` or `…`, `!`, `?`, or none): 1 or 0."""

    pattern = "punctuation"
    measure = "terminal marks that differ"

    def score_pair(self, first: str, second: str) -> int:
        return int(terminal_mark(first) != terminal_mark(second))


def terminal_mark(text: str) -> str:
    """Return the mark that ends a sentence: `.`, `!`, `?`, or an empty text."""
    return ENDS.get(text.rstrip(AFTER_THE_END)[-1:], "")


@dataclass(frozen=True, kw_only=True)
class DifferentNumbers(Step):
    """Count of numbers, written in digits, that occur in only one of the two texts. Commas and
    points are ignored, so `1,000` equals `1000` and `7.5` equals `7,5`.
    """

    pattern = "numbers"
    measure = "numbers that differ"

    def score_pair(self, first: str, second: str) -> int:
        if not (_DIGIT.search(first) or _DIGIT.search(second)):
            return 0
        left, right = (
            Counter(re.sub("[.,]", "", number) for number in _NUMBER.findall(text))
            for text in (first, second)
        )
        return ((left - right) + (right - left)).total()


@dataclass(frozen=True, kw_only=True)
class Copy(Step):
    """Whether the translation has the words of another side, in any case: 1 or 0."""

    at_most: float | None = argument(0.0, help="highest score of rows to keep")
    of: str = argument(REFERENCE, help="side to compare with", choices=(REFERENCE, SOURCE))

    pattern = "copy_of_{of}"
    measure = "a copy of the {of}"

    def score(self, rows: Sequence[Row]) -> list[int]:
        pairs = zip(column(rows, self.of), column(rows, TRANSLATION), strict=True)
        return [int(_same_words(a.lower(), b.lower())) for a, b in pairs]


def _same_words(first: str, second: str) -> bool:
    if first == second:
        return True
    # lazily, because most texts differ within the first words
    found = False
    for a, b in zip_longest(_WORD.finditer(first), _WORD.finditer(second)):
        if a is None or b is None or a[0] != b[0]:
            return False
        found = True
    return found
