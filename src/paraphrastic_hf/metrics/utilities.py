"""Metrics by which minimum Bayes risk decoding chooses: SIM, SimiLE, BLEU and chrF of every
candidate with every other (thesis, 7.2.1; `generation/bayes_risk.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.encoding.vectors import unit_length
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL, SimileScorer
from paraphrastic_hf.metrics.semantic import length_penalty, simile
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

if TYPE_CHECKING:
    from paraphrastic_hf.generation.bayes_risk import Utility

UTILITIES = ("simile", "sim", "bleu", "chrf")

Lists = Sequence[Sequence[str]]
Embedded = tuple[np.ndarray, np.ndarray | None]  # unit vectors, and lengths where they count


class SemanticUtility:
    """SIM or SimiLE of candidates, all of whose vectors come from one call of the encoder.

    Args:
        scorer: The metric; one with the penalty `none` gives SIM.
    """

    def __init__(self, scorer: SimileScorer) -> None:
        self.scorer = scorer

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Compare every candidate with every other of its list.

        Args:
            lists: The candidates of each sentence.

        Returns:
            For each list (candidates, candidates), -1 to 1.
        """
        return [self._compared(each, each) for each in self._embedded(lists)]

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Compare every candidate with the mean of all: with that of their unit vectors, whose dot
        product is the expected SIM exactly, and with their mean length.

        Args:
            lists: The candidates of each sentence.
            weights: For each list the shares of its candidates, (candidates,), with the sum 1.

        Returns:
            For each list (candidates,), -1 to 1.
        """
        return [
            self._compared(each, _mean(each, shares))[:, 0]
            for each, shares in zip(self._embedded(lists), weights, strict=True)
        ]

    def between(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Compare every hypothesis with every reference.

        Args:
            hypotheses: Texts.
            references: Other texts.

        Returns:
            (hypotheses, references), -1 to 1.
        """
        return self._compared(*self._embedded([hypotheses, references]))

    def with_mean(
        self, hypotheses: Sequence[str], references: Sequence[str], shares: np.ndarray
    ) -> np.ndarray:
        """Compare every hypothesis with the mean of all references, as `aggregated` does.

        Args:
            hypotheses: Texts.
            references: Other texts.
            shares: How much each reference counts, (references,), with the sum 1.

        Returns:
            (hypotheses,), -1 to 1.
        """
        own, other = self._embedded([hypotheses, references])
        return self._compared(own, _mean(other, shares))[:, 0]

    def _compared(self, own: Embedded, other: Embedded) -> np.ndarray:
        cosines = (own[0] @ other[0].T).clip(-1.0, 1.0)
        if own[1] is None or other[1] is None:
            return np.asarray(cosines)
        rows, columns = np.broadcast_arrays(own[1][:, None], other[1][None])
        penalties = length_penalty(rows, columns, self.scorer.penalty)
        return np.asarray(simile(cosines, penalties, self.scorer.alpha))

    def _embedded(self, lists: Lists) -> list[Embedded]:
        vectors, lengths = self.scorer.embed([text for each in lists for text in each])
        ends = np.cumsum([len(each) for each in lists])[:-1]
        units = np.split(unit_length(vectors).astype(np.float64), ends)
        if lengths is None:
            return [(unit, None) for unit in units]
        return list(zip(units, np.split(lengths.astype(np.float64), ends), strict=True))


class NgramUtility:
    """A metric of n-grams; every candidate is cut once.

    Args:
        cut: From a text to what is compared.
        score: From a candidate and its reference to 0 to 1.
    """

    def __init__(self, cut: Callable[[str], Any], score: Callable[[Any, Any], float]) -> None:
        self.cut, self.score = cut, score

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Compare every candidate with every other of its list.

        Args:
            lists: The candidates of each sentence.

        Returns:
            For each list (candidates, candidates), 0 to 1.
        """
        found = []
        for texts in lists:
            cut = [self.cut(text) for text in texts]
            found.append(np.array([[self.score(own, other) for other in cut] for own in cut]))
        return found


def make_utility(metric: str = "simile", *, model: Any = DEFAULT_MODEL) -> Utility:
    """Make the utility that a metric's name stands for.

    Args:
        metric: `simile`, `sim`, `bleu` (of sentences, smoothed as the thesis does) or `chrf`.
        model: The model of SIM and SimiLE, as `SimileScorer` takes it.

    Raises:
        DataError: There is no such metric.
        ModelError: The model of SIM and SimiLE cannot be loaded.
        MissingExtraError: A package that the metric needs is not installed.

    Example:
        >>> from paraphrastic_hf.generation.bayes_risk import minimum_bayes_risk
        >>> candidates = ["A cat sleeps.", "The cat is asleep.", "Dogs bark."]
        >>> minimum_bayes_risk([candidates], make_utility("simile"))[0].text != "Dogs bark."
        True
    """
    if metric == "bleu":
        return NgramUtility(word_cutter(), smoothed_bleu)
    if metric == "chrf":
        return NgramUtility(char_profile, chrf_score)
    if metric not in UTILITIES:
        raise DataError(f"the metric must be one of {', '.join(UTILITIES)}, got {metric!r}")
    return SemanticUtility(SimileScorer(model, penalty="none" if metric == "sim" else "both"))


def _mean(each: Embedded, shares: np.ndarray) -> Embedded:
    """The mean of some unit vectors and of their lengths, as one."""
    units, lengths = each
    return (shares @ units)[None], None if lengths is None else np.array([shares @ lengths])
