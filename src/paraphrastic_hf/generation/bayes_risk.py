"""Minimum Bayes risk decoding: choose the translation that agrees most with all candidates (Kumar
and Byrne, 2004; Eikema and Aziz, 2020). Metrics are in `metrics/utilities.py`.

The candidates are each other's references. The exact rule computes n^2 utilities of n candidates.
Metrics that compare vectors can use the mean of all references instead (`aggregate`), n utilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from paraphrastic_hf.generation.writing import GeneratedText

Lists = Sequence[Sequence[str]]
DECIMALS = 9  # utilities equal to 9 decimals are ties


class Utility(Protocol):
    """Quality of a translation, given another one as its reference."""

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Return for each list the utility of every candidate (row) with every candidate as its
        reference (column), (candidates, candidates). More is better."""


@runtime_checkable
class Aggregating(Utility, Protocol):
    """A utility that can compare with the mean of all references."""

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return for each list the utility of every candidate with the mean, (candidates,)."""


@dataclass(frozen=True)
class Decision:
    """The candidate chosen from a list.

    Attributes:
        index: Number of the chosen candidate, from 0.
        text: The candidate.
        utility: Its expected utility, in the unit of the metric.
        utilities: Expected utility of every candidate, (candidates,).
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
    """Choose the candidate with the highest expected utility from each list.

    Args:
        lists: The candidates of each sentence, at least one. Samples that were drawn several times
            are listed several times.
        weights: Weight of every candidate as a reference, for each list (candidates,), 0 or more
            and not all 0. None weighs all equally, which suits samples.

    Returns:
        A decision for each list. The first of equally good candidates wins.

    Example:
        >>> class SameWord:
        ...     def matrices(self, lists):
        ...         return [np.array([[float(a == b) for b in one] for a in one]) for one in lists]
        >>> minimum_bayes_risk([["cat", "dog", "dog"]], SameWord())[0].text
        'dog'
    """
    if aggregate and not isinstance(utility, Aggregating):
        raise ValueError("aggregate needs a metric that can average references")
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
            raise ValueError(
                "The metric is NaN or infinite for some candidates. Use another metric"
            )
        index = int(utilities.round(DECIMALS).argmax())
        decisions.append(Decision(index, candidates[index], float(utilities[index]), utilities))
    return decisions


def likelihood_weights(written: Sequence[GeneratedText]) -> np.ndarray:
    """Weigh the candidates of an n-best list by the mean probability of their tokens.

    Beam search uses the same measure. Probabilities of whole sentences would favor short ones
    (recipes/beyond-bleu-2019, "Minimum Bayes risk decoding").

    Returns:
        Weights that sum to 1, (candidates,). They are equal if a likelihood is unknown.

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
            f"weights of list {number} must be {count} numbers, 0 or more and not all 0, got "
            f"{given}"
        )
    return np.asarray(given / given.sum())


def _distinct(
    candidates: Sequence[str], shares: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the distinct candidates, their summed shares, and the index of every candidate."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(text, len(numbers)) for text in candidates])
    return list(numbers), np.bincount(places, shares), places
