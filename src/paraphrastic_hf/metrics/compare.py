"""Comparison of two systems: score distributions, ties, and segments on which SIM and BLEU disagree
(thesis, 7.5.1 and 7.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.matching import SegmentScores
from paraphrastic_hf.metrics.scorer import References, SimileScorer, checked_segments

MOST_DIGITS = 18  # of a segment number
EQUAL = 1e-4  # on a scale of 0 to 100. Smaller differences are rounding errors.
MEASURES = ("SimiLE", "SIM", "BLEU")


@dataclass(frozen=True)
class Ties:
    """Share of hypotheses with different scores, and mean difference (thesis, 7.5.1)."""

    pairs: int  # of hypotheses in the same list, over all lists
    unequal: float  # share of these pairs with different scores, 0 to 1
    difference: float  # mean absolute difference of a pair, 0 to 100


@dataclass(frozen=True)
class Comparison:
    """Scores of two systems on the same segments, 0 to 100, by measure (`MEASURES`)."""

    names: tuple[str, str]
    hypotheses: tuple[list[str], list[str]]
    references: list[list[str]]
    scores: dict[str, np.ndarray]  # (2, segments)
    ties: dict[str, Ties]  # within n-best lists if given, else between the two systems
    is_nbest: bool
    listed: dict[str, np.ndarray]  # of all hypotheses in the n-best lists, (hypotheses,)
    signature: str

    def change(self, measure: str) -> np.ndarray:
        """Return the scores of the second system minus those of the first, (segments,)."""
        return np.asarray(self.scores[measure][1] - self.scores[measure][0])

    def order(self) -> np.ndarray:
        """Return the indices of segments with different outputs, by descending |change of BLEU| -
        |change of SIM| (thesis, 7.7), (differing,).
        """
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
    """Score two systems by SimiLE, SIM and sentence BLEU, 0 to 100. Ties are counted in the n-best
    list of each segment, or between the two systems.
    """
    if names[0] == names[1]:
        raise DataError(f"Give the two systems different names, got {names[0]!r} twice")
    checked = [checked_segments(hypotheses, references) for hypotheses in systems]
    lists = checked[0][1]
    first, second = (hypotheses for hypotheses, _ in checked)
    flat = _measure(scorer, bleu, [*first, *second], [*lists, *lists])
    scores = {name: values.reshape(2, -1) for name, values in flat.items()}
    groups = nbest
    if groups is None:
        listed, numbers = flat, np.tile(np.arange(len(lists)), 2)
    else:
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
    """Count ties within each list (thesis, 7.5.1). Scores are 0 to 100, (hypotheses,)."""
    order = np.argsort(lists, kind="stable")
    groups = np.split(scores[order], np.flatnonzero(np.diff(lists[order])) + 1)
    differences = np.array([abs(a - b) for group in groups for a, b in combinations(group, 2)])
    if not len(differences):
        return Ties(0, 0.0, 0.0)
    unequal = float((differences > EQUAL).mean())
    return Ties(len(differences), unequal, float(differences.mean()))


def read_nbest(lines: Sequence[str], segments: int, name: str) -> list[list[str]]:
    """Read n-best lists. Return the hypotheses of each segment in file order.

    The first line determines the format. Moses writes `number ||| hypothesis ||| ...` and counts
    segments from 0. `paraphrastic translate --outputs N` writes `number<tab>score<tab>hypothesis`
    and counts from 1.
    """
    is_moses = not lines or "|||" in lines[0] or "\t" not in lines[0]
    form = "number ||| hypothesis ||| ..." if is_moses else "number<tab>score<tab>hypothesis"
    place, first = (1, 0) if is_moses else (2, 1)
    lists: list[list[str]] = [[] for _ in range(segments)]
    for i, line in enumerate(lines, 1):
        parts = [part.strip() for part in (line.split("|||") if is_moses else line.split("\t", 2))]
        if len(parts) <= place or not parts[0].isdecimal():
            raise DataError(f"{name}:{i} does not match `{form}`: {line[:60]!r}")
        if len(parts[0]) > MOST_DIGITS or not first <= int(parts[0]) < segments + first:
            raise DataError(
                f"{name}:{i} has segment number {parts[0][:20]}, but the {segments:,} segments "
                f"are numbered from {first}"
            )
        lists[int(parts[0]) - first].append(parts[place])
    return lists


def _measure(
    scorer: SimileScorer, bleu: SegmentScores, hypotheses: list[str], lists: list[list[str]]
) -> dict[str, np.ndarray]:
    scores = scorer.score(hypotheses, lists)
    values = (100 * scores.simile, 100 * scores.sim, bleu(hypotheses, lists))
    return dict(zip(MEASURES, values, strict=True))
