"""Two systems side by side: how SIM and BLEU spread, tie and disagree (thesis, 7.5.1 and 7.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.matching import SegmentScores
from paraphrastic_hf.metrics.scorer import References, SimileScorer, checked_segments

EQUAL = 1e-4  # of 100; closer scores are the same but for rounding
MEASURES = ("SimiLE", "SIM", "BLEU")


@dataclass(frozen=True)
class Ties:
    """How finely a metric tells the hypotheses of a list apart (thesis, 7.5.1).

    Attributes:
        pairs: Pairs of hypotheses of one list, over all lists.
        unequal: Share of them whose scores differ.
        difference: Mean absolute difference of their scores, of 100.
    """

    pairs: int
    unequal: float
    difference: float


@dataclass(frozen=True)
class Comparison:
    """Scores of two systems, x 100.

    Attributes:
        names: Of the systems.
        hypotheses: Of each system.
        references: Lists, a segment each.
        scores: Of each measure, (2, segments).
        ties: Of each measure over the n-best lists, or over the two systems' outputs.
        is_nbest: Whether n-best lists were given.
        listed: Of each measure, the scores of all hypotheses in the lists, (hypotheses,).
        signature: Of SimiLE.
    """

    names: tuple[str, str]
    hypotheses: tuple[list[str], list[str]]
    references: list[list[str]]
    scores: dict[str, np.ndarray]
    ties: dict[str, Ties]
    is_nbest: bool
    listed: dict[str, np.ndarray]
    signature: str

    def change(self, measure: str) -> np.ndarray:
        """Score of the second system less that of the first, (segments,)."""
        return np.asarray(self.scores[measure][1] - self.scores[measure][0])

    def order(self) -> np.ndarray:
        """Segments whose outputs differ, by |change of BLEU| - |change of SIM|, largest first."""
        differs = [a != b for a, b in zip(*self.hypotheses, strict=True)]
        statistic = np.abs(self.change("BLEU")) - np.abs(self.change("SIM"))
        order = np.argsort(-statistic, kind="stable")
        return np.asarray(order[np.array(differs)[order]])


def compare(
    scorer: SimileScorer,
    bleu: SegmentScores,
    names: tuple[str, str],
    systems: tuple[Sequence[str], Sequence[str]],
    references: References,
    nbest: Sequence[Sequence[str]] | None = None,
) -> Comparison:
    """Score two systems by SimiLE, SIM and sentence BLEU.

    Args:
        scorer: Of SimiLE and SIM.
        bleu: Of BLEU, 0 to 100 (`metrics/matching.py`).
        names: Of the systems.
        systems: Their hypotheses, one a segment.
        references: A text or a list of texts a segment.
        nbest: Hypotheses of each segment, for the ties; the two systems' without.

    Raises:
        DataError: Numbers of segments differ, or a text is no string.
    """
    if names[0] == names[1]:
        raise DataError(f"the two systems must have names of their own, both are {names[0]!r}")
    checked = [checked_segments(hypotheses, references) for hypotheses in systems]
    lists = checked[0][1]
    first, second = (hypotheses for hypotheses, _ in checked)
    flat = _measure(scorer, bleu, [*first, *second], [*lists, *lists])
    scores = {name: values.reshape(2, -1) for name, values in flat.items()}
    groups = nbest
    if groups is None:
        listed, numbers = flat, np.tile(np.arange(len(lists)), 2)
    else:
        if len(groups) != len(lists):
            raise DataError(
                f"there are n-best lists for {len(groups):,} segments but references for "
                f"{len(lists):,}"
            )
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        listed = _measure(
            scorer,
            bleu,
            [hypothesis for group in groups for hypothesis in group],
            [lists[i] for i in numbers],
        )
    return Comparison(
        names,
        (first, second),
        lists,
        scores,
        {name: count_ties(values, numbers) for name, values in listed.items()},
        nbest is not None,
        listed,
        scorer.signature(str(len(lists[0])) if len({len(x) for x in lists}) == 1 else "var"),
    )


def count_ties(scores: np.ndarray, lists: np.ndarray) -> Ties:
    """Compare the scores of every two hypotheses of one list.

    Args:
        scores: Of 100, (hypotheses,).
        lists: The number of each one's list, (hypotheses,).

    Example:
        >>> count_ties(np.array([50.0, 50.0, 47.0]), np.array([0, 0, 0]))
        Ties(pairs=3, unequal=0.6666666666666666, difference=2.0)
    """
    order = np.argsort(lists, kind="stable")
    groups = np.split(scores[order], np.flatnonzero(np.diff(lists[order])) + 1)
    differences = np.array([abs(a - b) for group in groups for a, b in combinations(group, 2)])
    if not len(differences):
        return Ties(0, 0.0, 0.0)
    unequal = float((differences > EQUAL).mean())
    return Ties(len(differences), unequal, float(differences.mean()))


def read_nbest(lines: Sequence[str], segments: int, name: str) -> list[list[str]]:
    """N-best lists in the form of Moses, `number ||| hypothesis ||| ...`, numbered from 0.

    Raises:
        DataError: A line is not of this form, or numbers no segment.
    """
    lists: list[list[str]] = [[] for _ in range(segments)]
    for i, line in enumerate(lines, 1):
        parts = [part.strip() for part in line.split("|||")]
        if len(parts) < 2 or not parts[0].isdecimal():
            raise DataError(f"{name}:{i} is not `number ||| hypothesis ||| ...`: {line[:60]!r}")
        if int(parts[0]) >= segments:
            raise DataError(
                f"{name}:{i} is of segment {parts[0]}, counted from 0, but there are {segments:,}"
            )
        lists[int(parts[0])].append(parts[1])
    return lists


def _measure(
    scorer: SimileScorer, bleu: SegmentScores, hypotheses: list[str], lists: list[list[str]]
) -> dict[str, np.ndarray]:
    scores = scorer.score(hypotheses, lists)
    values = (100 * scores.simile, 100 * scores.sim, bleu(hypotheses, lists))
    return dict(zip(MEASURES, values, strict=True))
