"""Steps that compare the words of both sides (thesis, 4.5.4; 2017 paper, 5.7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.pipelines.steps.base import Row, Step, sides
from paraphrastic_hf.pipelines.steps.ngrams import Words, blocks, hash_words, shared_ngrams

ORDER = 4  # longest n-gram of BLEU


@dataclass(frozen=True, kw_only=True)
class NgramOverlap(Step):
    """Shared n-grams divided by the n-grams of the side with fewer (0 / 0 counts as 0).

    The thesis uses trigrams, the 2017 paper n-grams of 1 to 3 words.
    """

    n: int = argument(3, help="words per n-gram", at_least=1, at_most=9)

    @property
    def name(self) -> str:
        return "overlap" if self.n == 3 else f"overlap_{self.n}"

    @property
    def measure(self) -> str:
        return {1: "word overlap", 2: "bigram overlap", 3: "trigram overlap"}.get(
            self.n, f"{self.n}-gram overlap"
        )

    def score(self, rows: Sequence[Row]) -> list[float]:
        return _by_blocks(rows, self._overlap)

    def _overlap(self, first: Words, second: Words) -> np.ndarray:
        shared, *total = shared_ngrams(first, second, self.n)
        fewest = np.minimum(*total)
        return np.where(fewest > 0, shared / np.maximum(fewest, 1), 0.0)


@dataclass(frozen=True, kw_only=True)
class SentenceBleu(Step):
    """Smoothed BLEU of the translation against the reference (Nakov et al., 2012).

    Smoothing adds 1 to every n-gram count and to the length of the reference, so a long copy scores
    higher than a short copy.
    """

    name = "bleu"
    measure = "smoothed sentence BLEU"

    def score(self, rows: Sequence[Row]) -> list[float]:
        return _by_blocks(rows, _bleu)


def _bleu(reference: Words, translation: Words) -> np.ndarray:
    logarithms = np.zeros(len(reference.lengths))
    for n in range(1, ORDER + 1):
        shared, _, there = shared_ngrams(reference, translation, n)
        logarithms += np.log((shared + 1) / (there + 1))
    longer = (reference.lengths + 1) / np.maximum(translation.lengths, 1)
    return np.exp(logarithms / ORDER + np.minimum(0.0, 1 - longer))


def _by_blocks(rows: Sequence[Row], score: Callable[[Words, Words], np.ndarray]) -> list[float]:
    first, second = sides(rows)
    found: list[float] = []
    for start, end in blocks(first, second):
        words = (hash_words(side[start:end]) for side in (first, second))
        found += score(*words).tolist()
    return found
