"""Minimum Bayes risk decoding: of many translations of a sentence, the one that agrees most with
all of them, by a metric (Kumar and Byrne, 2004; Eikema and Aziz, 2020).

It trains nothing, and so stands beside minimum risk training (thesis, 7.3): both choose by expected
cost. Candidates serve as each other's references. The exact rule asks a metric for n^2 utilities of
n candidates; where a metric compares vectors, one comparison with their mean does (`aggregate`),
which costs n. Which metrics there are is in `metrics/utilities.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from paraphrastic_hf.generation.writing import GeneratedText

Lists = Sequence[Sequence[str]]
DECIMALS = 9  # utilities that differ beyond are equal, and the earlier candidate is taken


class Utility(Protocol):
    """How good a translation is if another were the right one."""

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """For each list the utility of every candidate (row) with every other as its reference
        (column), (candidates, candidates), of which more is better."""


@runtime_checkable
class Aggregating(Utility, Protocol):
    """A utility that compares with the mean of all references at once."""

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each list the utility of every candidate with the mean of all, (candidates,)."""


@dataclass(frozen=True)
class Decision:
    """What was chosen of a list.

    Attributes:
        index: Number of the chosen candidate, from 0.
        text: The candidate.
        utility: Its expected utility, in the unit of the metric.
        utilities: (candidates,) that of every candidate.
    """

    index: int
    text: str
    utility: float
    utilities: np.ndarray


def minimum_bayes_risk(
    lists: Lists,
    utility: Utility,
    *,
    weights: Sequence[np.ndarray] | None = None,
    aggregate: bool = False,
) -> list[Decision]:
    """Choose of each list the candidate with the highest expected utility.

    Args:
        lists: The candidates of each sentence, one or more; of samples, those that were drawn
            several times as often as they were.
        weights: For each list how much every candidate counts as a reference, (candidates,), 0 or
            more and not all 0; all alike if None, as of samples.

    Returns:
        A decision for each list; of equally good candidates, the first.

    Example:
        >>> class SameWord:
        ...     def matrices(self, lists):
        ...         return [np.array([[float(a == b) for b in one] for a in one]) for one in lists]
        >>> minimum_bayes_risk([["cat", "dog", "dog"]], SameWord())[0].text
        'dog'
    """
    if aggregate and not isinstance(utility, Aggregating):
        raise ValueError("this metric has no mean of references: leave aggregate out")
    kept: list[tuple[list[str], np.ndarray, np.ndarray]] = []
    for number, candidates in enumerate(lists):
        shares = _shares(None if weights is None else weights[number], len(candidates), number)
        kept.append(_distinct(candidates, shares))
    texts, shares_of = [texts for texts, _, _ in kept], [shares for _, shares, _ in kept]
    if aggregate and isinstance(utility, Aggregating):
        found = utility.aggregated(texts, shares_of)
    else:
        matrices = utility.matrices(texts)
        found = [table @ share for table, share in zip(matrices, shares_of, strict=True)]
    decisions = []
    for candidates, values, (_, _, places) in zip(lists, found, kept, strict=True):
        utilities = np.asarray(values, np.float64)[places]
        if not np.isfinite(utilities).all():
            raise ValueError("the metric gives NaN or infinity for some candidates")
        index = int(utilities.round(DECIMALS).argmax())
        decisions.append(Decision(index, candidates[index], float(utilities[index]), utilities))
    return decisions


def likelihood_weights(written: Sequence[GeneratedText]) -> np.ndarray:
    """Weigh the candidates of an n-best list by how likely the model finds a token of each.

    So beams are compared, too. The probability of the whole sentence is less the longer it is, and
    short ones would win (recipes/beyond-bleu-2019, "Minimum Bayes risk decoding").

    Returns:
        (candidates,) shares that sum to 1; equal ones where a likelihood is not known.

    Example:
        >>> likelihood_weights([GeneratedText("a", 0.0), GeneratedText("b", float("nan"))]).tolist()
        [0.5, 0.5]
    """
    nats = np.array([each.nats for each in written])
    if not np.isfinite(nats).all():
        return np.full(len(nats), 1 / len(nats))
    shares = np.exp(nats - nats.max())
    return np.asarray(shares / shares.sum())


def _shares(weights: np.ndarray | None, count: int, number: int) -> np.ndarray:
    if weights is None:
        return np.full(count, 1 / count)
    given = np.asarray(weights, np.float64)
    if given.shape != (count,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
        raise ValueError(
            f"weights of list {number} must be a number for each of {count} candidates, 0 or more "
            f"and not all 0, got {given}"
        )
    return np.asarray(given / given.sum())


def _distinct(
    candidates: Sequence[str], shares: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Each candidate once, its shares together, and the place of every candidate among them."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(text, len(numbers)) for text in candidates])
    return list(numbers), np.bincount(places, shares), places
