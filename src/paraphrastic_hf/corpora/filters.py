"""Filters of paraphrases and bitext: score, trigram overlap, length (thesis, 4.5.4)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import Bounds
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import output_file, replacing
from paraphrastic_hf.text.overlap import ngram_overlap

logger = logging.getLogger(__name__)

Measure = Callable[[str, str, float | None], float | None]  # takes both texts and their score


@dataclass(frozen=True)
class Rejection:
    """Reason for leaving a pair out: a measure, its value and the allowed values."""

    measure: str
    score: float
    bounds: Bounds

    def __str__(self) -> str:
        return f"{self.measure} must be {self.bounds}, got {self.score:.6g}"


@dataclass(frozen=True)
class PairFilter:
    """Bounds on pairs of texts. A bound that is None is not applied."""

    min_score: float | None = None  # 0.5 for SIM's training data (thesis, 7, footnote 3)
    max_score: float | None = None
    max_overlap: float | None = None  # of trigrams, 0 to 1. 0.2 for SIM's training data
    min_words: int | None = None  # of each side. 5 for bitext (thesis, 5.6.2)
    max_words: int | None = None  # 30 for ParaNMT's 5M pairs (thesis, 4.5.4), 100 for bitext

    def __post_init__(self) -> None:
        for name in ("max_overlap", "min_words", "max_words"):
            if (value := getattr(self, name)) is not None and value < 0:
                raise DataError(f"{name} must be 0 or more, got {value}")
        for name in ("score", "words"):
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if low is not None and high is not None and low > high:
                raise DataError(f"min_{name} {low} is above max_{name} {high}")

    @cached_property
    def _criteria(self) -> list[tuple[str, Measure, Bounds]]:
        def words(choose: Callable[[int, int], int]) -> Measure:
            return lambda a, b, _: choose(len(a.split()), len(b.split()))

        every: list[tuple[str, Measure, Bounds]] = [  # the cheapest first
            ("score", lambda a, b, score: score, Bounds(self.min_score, self.max_score)),
            ("words of the shorter side", words(min), Bounds(self.min_words)),
            ("words of the longer side", words(max), Bounds(at_most=self.max_words)),
            (
                "trigram overlap",
                lambda a, b, _: ngram_overlap(a, b, 3),
                Bounds(at_most=self.max_overlap),
            ),
        ]
        return [criterion for criterion in every if criterion[2] != Bounds()]

    def judge(self, first: str, second: str, score: float | None = None) -> Rejection | None:
        """Return the first reason to leave a pair out, or None. A score may be None."""
        for name, measure, bounds in self._criteria:
            found = measure(first, second, score)
            if found is not None and not bounds.allow(found):
                return Rejection(name, found, bounds)
        return None


class Sieve:
    """Filter that counts the pairs it leaves out and writes them to `rejects` at the end."""

    def __init__(self, wanted: PairFilter, *, name: str, rejects: str | Path | None = None) -> None:
        self.wanted, self.name = wanted, name
        self.left_out: Counter[str] = Counter()
        self._files = ExitStack()
        self._rejects = None if rejects is None else _place_of_rejects(rejects)

    def __enter__(self) -> Sieve:
        if self._rejects is not None:
            partial = self._files.enter_context(replacing(self._rejects, is_shared=True))
            self._file = self._files.enter_context(partial.open("w", encoding="utf-8"))
        return self

    def __exit__(self, *error: Any) -> None:
        self._files.__exit__(*error)
        if self.left_out and error[0] is None:
            counts = ", ".join(f"{count:,} by {name}" for name, count in self.left_out.items())
            logger.info("%s: pairs left out: %s", self.name, counts)

    def keeps(self, first: str, second: str, score: float | None = None) -> bool:
        """Return whether a pair passes. A pair that fails is counted and written to the rejects."""
        rejection = self.wanted.judge(first, second, score)
        if rejection is None:
            return True
        self.left_out[rejection.measure] += 1
        if self._rejects is not None:
            sides = (" ".join(side.split()) for side in (first, second))
            line = (*sides, rejection.measure, f"{rejection.score:.6g}", str(rejection.bounds))
            self._file.write("\t".join(line) + "\n")
        return False


def _place_of_rejects(path: str | Path) -> Path:
    """Return the path for rejected pairs. An existing file must be empty or hold rejected pairs."""
    place = output_file(path)
    if not place.parent.is_dir():
        raise DataError(f"Cannot write {path}: the folder {place.parent} does not exist")
    if place.exists() and place.stat().st_size:
        with place.open("rb") as file:
            columns = file.readline(2**20).split(b"\t")
        if len(columns) != 5:
            raise DataError(f"{path} is not a file of rejected pairs. Choose another file")
    return place


def unique_word_pairs(
    pairs: Iterable[tuple[str, str]], vocabulary: frozenset[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the word pairs that are fit for training word vectors (thesis, 3.5.2): without digits,
    in the `vocabulary` (if given), of different words, and once in either order.
    """
    seen: set[tuple[str, str]] = set()
    for first, second in pairs:
        key = (first, second) if first < second else (second, first)
        has_digit = any(character.isdigit() for character in first + second)
        if has_digit or first == second or key in seen:
            continue
        if vocabulary is not None and not (first in vocabulary and second in vocabulary):
            continue
        seen.add(key)
        yield first, second


def first_side_probabilities(bitexts: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the probability that the semantic encoder reads the first side of each bitext, so that
    all languages are read about equally often (thesis, 5.12). If English has bitexts with N
    languages, it is read with probability 1 / (N + 1), as in 5.13.1.
    """
    pairs = list(bitexts)
    count = Counter(language for pair in pairs for language in pair)
    return {
        (first, second): count[second] / (count[first] + count[second]) for first, second in pairs
    }
