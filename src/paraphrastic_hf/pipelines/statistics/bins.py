"""Rows of a corpus by score bin, for people or models to rate (thesis, 4.3.2 and Table 27)."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.steps.base import Row, Score
from paraphrastic_hf.pipelines.steps.overlap import NgramOverlap

EDGES = (-0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # Table 27
OF_A_BIN = 100  # size of a bin's sample in Table 27


@dataclass
class Bin:
    """Rows with scores in (low, high]: their number, and a random sample with scores.

    `overlap` is the trigram overlap of the sample, mean and standard deviation. `ratings` are the
    numbers of ratings 1, 2 and 3 by question.
    """

    low: float
    high: float
    count: int = 0
    sample: list[tuple[Row, float]] = field(default_factory=list)
    overlap: tuple[float, float] = (math.nan, math.nan)
    ratings: dict[str, list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g}]"


def fill_bins(
    batches: Iterable[Sequence[Row]],
    score: Score,
    *,
    edges: Sequence[float] = EDGES,
    of_a_bin: int = OF_A_BIN,
    seed: int = 1,
) -> tuple[list[Bin], int]:
    """Sort the rows of a corpus into bins and keep a random sample of each bin.

    Return the bins, and the number of rows that are in no bin or have no score.
    """
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise DataError(f"edges must be two or more ascending numbers, got {list(edges)}")
    bins = [Bin(low, high) for low, high in pairwise(edges)]
    choice = random.Random(seed)
    outside = 0
    for rows in batches:
        scores = [math.nan if value is None else value for value in score(rows)]
        places = np.searchsorted(np.asarray(edges), scores, side="left") - 1
        for row, value, place in zip(rows, scores, places.tolist(), strict=True):
            if not edges[0] < value <= edges[-1]:
                outside += 1
                continue
            chosen = bins[place]
            chosen.count += 1
            if len(chosen.sample) < of_a_bin:
                chosen.sample.append((row, value))
            elif (slot := choice.randrange(chosen.count)) < of_a_bin:
                chosen.sample[slot] = (row, value)
    for each in bins:
        overlaps = NgramOverlap().score([row for row, _ in each.sample])
        if overlaps:
            each.overlap = float(np.mean(overlaps)), float(np.std(overlaps))
    return bins, outside


def sampled(bins: Sequence[Bin], score: Score) -> list[float]:
    """Return the mean of another score over the sample of each bin. NaN for an empty sample."""
    means = []
    for each in bins:
        found = score([row for row, _ in each.sample]) if each.sample else []
        known = [value for value in found if value is not None]
        means.append(float(np.mean(known)) if known else math.nan)
    return means
