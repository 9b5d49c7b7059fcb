"""Minimum Bayes risk decoding (Kumar and Byrne, 2004; Eikema and Aziz, 2020).

The chosen candidate is the one that agrees most with all candidates. This takes n^2 utilities for n
candidates. Metrics that compare vectors can instead use the mean of all candidates as the reference
(`aggregate`), which takes n.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from paraphrastic_hf.generation.writing import GeneratedText

Lists = Sequence[Sequence[str]]
DECIMALS = 9  # utilities equal to 9 decimals are ties


class Utility(Protocol):
    """Interface of a metric that compares a translation with a reference."""

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Return a matrix of utilities, (candidates, references), for each list of candidates."""


class Aggregating(Utility, Protocol):
    """Interface of a metric that can compare candidates with the mean of all references."""

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the utility of each candidate given the weighted mean of the references."""


@dataclass(frozen=True)
class Decision:
    """The candidate chosen from a list."""

    index: int
    text: str
    utility: float  # expected utility, in the unit of the metric
    utilities: np.ndarray  # expected utility of every candidate, (candidates,)


def minimum_bayes_risk(
    lists: Lists,
    utility: Utility,
    *,
    weights: Sequence[np.ndarray] | None = None,
    aggregate: bool = False,
) -> list[Decision]:
    """Choose the candidate with the highest expected utility from each list, the first of equals.

    A list has at least one candidate, and each sample as often as it was drawn. `weights` are those
    of the candidates as references, (candidates,) for each list, 0 or more and not all 0. None
    gives equal weights, which is right for samples. `aggregate` compares with the mean of all
    candidates. The metric must then be `Aggregating`.
    """
    if weights is None:
        weights = [np.ones(len(candidates)) for candidates in lists]
    kept = [_distinct(*each) for each in zip(lists, weights, strict=True)]
    texts, shares_of = [texts for texts, _, _ in kept], [shares for _, shares, _ in kept]
    if aggregate:
        found = cast(Aggregating, utility).aggregated(texts, shares_of)
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
    """Return weights in proportion to exp(mean log-probability of the tokens), which sum to 1,
    (candidates,), or equal weights if a likelihood is unknown. Beam search ranks by the same mean.
    """
    nats = np.array([each.nats for each in written])
    if not np.isfinite(nats).all():
        return np.full(len(nats), 1 / len(nats))
    shares = np.exp(nats - nats.max())
    return np.asarray(shares / shares.sum())


def _distinct(
    candidates: Sequence[str], weights: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return distinct candidates, their shares of the weight, and the index of each text."""
    weights = np.asarray(weights, np.float64)
    if not ((weights >= 0).all() and 0 < weights.sum() < np.inf):
        raise ValueError(f"weights must be 0 or more and not all 0, got {weights}")
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(text, len(numbers)) for text in candidates])
    return list(numbers), np.bincount(places, weights / weights.sum()), places
