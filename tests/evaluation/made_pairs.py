"""Encoders and tiny files whose cosines are known: a text is a number, its vector's angle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.evaluation.measures.judged import Ranked, judged_p_value
from tests.evaluation.sts_files import write_lines

ANGLES = ("0.2", "0.7", "1.1", "1.5")  # falling cosines with the angle 0


class Angles:
    """An encoder of numbers."""

    def encode(self, texts: list[str]) -> np.ndarray:
        angles = np.array([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], 1)


class Letters:
    """An encoder: counts of letters."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array(
            [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float
        )


class Constant:
    """An encoder for which everything is the same."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), 3))


def write_words(folder: Path, name: str, gold: list[float]) -> None:
    """A word set of the angle 0 with each of `ANGLES`."""
    path = folder / "wordsim" / "mfaruqui_eval-word-vectors" / f"EN-{name}.txt"
    write_lines(path, [f"0\t{angle}\t{score}" for angle, score in zip(ANGLES, gold, strict=True)])


def write_bigrams(folder: Path, kind: str, ratings: list[list[int]]) -> None:
    """Bigrams of the angle 0 with each of `ANGLES`, a line a rating."""
    lines = [
        f"0|||{angle}|||{rating}"
        for angle, each in zip(ANGLES, ratings, strict=True)
        for rating in each
    ]
    write_lines(folder / "ppdb_annotated" / f"bigram_test.{kind}.txt", lines)


def row_of(results: dict[str, Any], group: str, name: str) -> dict[str, Any]:
    """One row of results."""
    return next(row for row in results["rows"] if (row["group"], row["name"]) == (group, name))


def correlation_p_value(
    first: np.ndarray,
    second: np.ndarray,
    gold: np.ndarray,
    measure: str = "pearson",
    **options: int,
) -> float:
    """The p-value of the difference of two predictions."""
    a, b = (Ranked("", "", measure, cosines, gold) for cosines in (first, second))
    return judged_p_value(a, b, **options)
