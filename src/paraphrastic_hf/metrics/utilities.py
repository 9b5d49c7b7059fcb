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
from paraphrastic_hf.metrics.semantic import Embedded, SentenceVectors
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

CODES_OF_ENGLISH = ("en", "eng", "eng_Latn")  # language codes of multilingual tokenizers

Lists = Sequence[Sequence[str]]


class SemanticUtility:
    """SIM between candidates, or SimiLE if the scorer has a `penalty`."""

    def __init__(self, scorer: SimileScorer) -> None:
        self.scorer = scorer

    def matrices(self, lists: Lists) -> list[np.ndarray]:
        """Return SIM or SimiLE, (candidates, candidates), within each list."""
        embedded, numbers = self._embedded(lists)
        found = []
        for own in numbers:
            cosines, lengths = embedded.grid(own, own), embedded.lengths
            if lengths is not None:
                sides = np.broadcast_arrays(lengths[own][:, None], lengths[own][None])
                cosines = self.scorer.penalized(cosines, *sides)
            found.append(cosines)
        return found

    def aggregated(self, lists: Lists, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Score each candidate against the weighted mean of all candidates of its list,
        (candidates,) per list.

        The dot product with the mean of the unit vectors is exactly the expected SIM. The length
        penalty uses the mean length. Weights of a list have the sum 1.
        """
        embedded, numbers = self._embedded(lists)
        if not isinstance(embedded, SentenceVectors):
            got = self.scorer.similarity
            raise DataError(f"aggregate requires similarity sentences, got {got}")
        found = []
        for own, shares in zip(numbers, weights, strict=True):
            units, lengths = embedded.units[own], embedded.lengths
            scores = (units @ (shares @ units)).clip(-1.0, 1.0)
            if lengths is not None:
                mean = np.full(len(own), shares @ lengths[own])
                scores = self.scorer.penalized(scores, lengths[own], mean)
            found.append(scores)
        return found

    def _embedded(self, lists: Lists) -> tuple[Embedded, list[np.ndarray]]:
        embedded = self.scorer.embed([text for each in lists for text in each])
        ends = np.cumsum([len(each) for each in lists])
        return embedded, np.split(np.arange(ends[-1]), ends[:-1]) if len(ends) else []


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
