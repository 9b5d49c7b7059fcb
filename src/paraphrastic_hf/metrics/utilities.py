"""Utilities of minimum Bayes risk decoding: SIM, SimiLE, BLEU or chrF of each pair of candidates
(thesis, 7.2.1; `generation/bayes_risk.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.bayes_risk import Utility
from paraphrastic_hf.metrics.names import UTILITIES as UTILITIES
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL, SimileScorer
from paraphrastic_hf.metrics.semantic import (
    Embedded,
    SentenceVectors,
    length_penalty,
    simile,
)
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

CODES_OF_ENGLISH = ("en", "eng", "eng_Latn")  # language codes of multilingual tokenizers

Lists = Sequence[Sequence[str]]


class SemanticUtility:
    """SIM or SimiLE (by the scorer's `penalty`) between candidates."""

    def __init__(self, scorer: SimileScorer) -> None:
        self.scorer = scorer

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Return SIM or SimiLE, (candidates, candidates), within each list."""
        embedded, numbers = self._embedded(lists)
        return [self._compared(embedded, each, each) for each in numbers]

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Score each candidate against the weighted mean of all candidates of its list,
        (candidates,) per list.

        The dot product with the mean of the unit vectors is exactly the expected SIM. The length
        penalty uses the mean length. Weights of a list have the sum 1.
        """
        embedded, numbers = self._embedded(lists)
        return [
            self._with_mean(embedded, each, each, shares)
            for each, shares in zip(numbers, weights, strict=True)
        ]

    def between(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Score every hypothesis against every reference, (hypotheses, references), -1 to 1."""
        embedded, (own, other) = self._embedded([hypotheses, references])
        return self._compared(embedded, own, other)

    def with_mean(
        self, hypotheses: Sequence[str], references: Sequence[str], shares: np.ndarray
    ) -> np.ndarray:
        """Score each hypothesis, (hypotheses,), as `aggregated` does."""
        embedded, (own, other) = self._embedded([hypotheses, references])
        return self._with_mean(embedded, own, other, shares)

    def _embedded(self, lists: Lists) -> tuple[Embedded, list[np.ndarray]]:
        embedded = self.scorer.embed([text for each in lists for text in each])
        ends = np.cumsum([len(each) for each in lists])
        return embedded, np.split(np.arange(ends[-1]), ends[:-1]) if len(ends) else []

    def _compared(self, embedded: Embedded, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        cosines, lengths = embedded.grid(own, other), embedded.lengths
        if lengths is None:
            return cosines
        rows, columns = np.broadcast_arrays(lengths[own][:, None], lengths[other][None])
        return self._penalized(cosines, rows, columns)

    def _with_mean(
        self, embedded: Embedded, own: np.ndarray, other: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        if not isinstance(embedded, SentenceVectors):
            got = self.scorer.similarity
            raise DataError(f"aggregate requires similarity sentences, got {got}")
        mean = shares @ embedded.units[other]
        cosines = (embedded.units[own] @ mean).clip(-1.0, 1.0)
        if (lengths := embedded.lengths) is None:
            return np.asarray(cosines)
        length = np.full(len(own), shares @ lengths[other])
        return self._penalized(cosines, lengths[own], length)

    def _penalized(self, cosines: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        penalties = length_penalty(own, other, self.scorer.penalty)
        return np.asarray(simile(cosines, penalties, self.scorer.alpha))


class NgramUtility:
    """BLEU or chrF between candidates, each split into n-grams once."""

    def __init__(self, cut: Callable[[str], Any], score: Callable[[Any, Any], float]) -> None:
        self.cut, self.score = cut, score

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        found = []
        for texts in lists:
            cut = [self.cut(text) for text in texts]
            found.append(np.array([[self.score(own, other) for other in cut] for own in cut]))
        return found


def make_utility(
    metric: str = "simile", *, model: Any = DEFAULT_MODEL, similarity: str = "sentences"
) -> Utility:
    """Return the utility for a metric: `simile`, `sim`, `bleu` (sentence BLEU, smoothed as in the
    thesis) or `chrf`. Only `similarity` `sentences` supports the method `aggregated`.
    """
    if metric == "bleu":
        return NgramUtility(word_cutter(), smoothed_bleu)
    if metric == "chrf":
        return NgramUtility(char_profile, chrf_score)
    if metric not in UTILITIES:
        raise DataError(f"metric must be one of {', '.join(UTILITIES)}, got {metric!r}")
    penalty = "none" if metric == "sim" else "both"
    return SemanticUtility(SimileScorer(model, similarity=similarity, penalty=penalty))
