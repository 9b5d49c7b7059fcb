"""Sentence pairs grouped by language pair, and their sampling (thesis, 5.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paraphrastic_hf.corpora.filters import first_side_probabilities
from paraphrastic_hf.training.data.corpus import PairCorpus, language_shares


@dataclass(frozen=True)
class Bitexts:
    """Sentence pairs, grouped into one bitext per language pair.

    Attributes:
        languages: The two languages of each bitext. All bitexts order languages in the same way.
        sides: Indices of the two sentences, in the order of the bitext's languages, (pairs, 2).
        bitext: Index of each pair's bitext, (pairs,).
    """

    languages: list[tuple[str, str]]
    sides: np.ndarray
    bitext: np.ndarray

    def __len__(self) -> int:
        return len(self.sides)

    @classmethod
    def of(cls, corpus: PairCorpus, order: Sequence[str]) -> Bitexts:
        """Group the pairs of a corpus by language pair.

        Args:
            order: Codes of all languages. Sides of a bitext are in this order.
        """
        place = np.array([order.index(code) for code in corpus.languages])
        sentences = np.arange(2 * len(corpus)).reshape(-1, 2)
        places = place[corpus.language].reshape(-1, 2)
        turned = places[:, :1] > places[:, 1:]
        sides = np.where(turned, sentences[:, ::-1], sentences)
        code = places.min(1) * len(order) + places.max(1)
        found, bitext = np.unique(code, return_inverse=True)
        languages = [(order[number // len(order)], order[number % len(order)]) for number in found]
        return cls(languages, sides, bitext)

    def select(self, chosen: np.ndarray) -> Bitexts:
        """Select pairs by index or by a mask."""
        return replace(self, sides=self.sides[chosen], bitext=self.bitext[chosen])

    def grouped(self) -> dict[tuple[str, str], np.ndarray]:
        """Return the `sides` of each non-empty bitext, by its two languages."""
        found = {pair: self.sides[self.bitext == i] for i, pair in enumerate(self.languages)}
        return {pair: sides for pair, sides in found.items() if len(sides)}

    def codes(self) -> set[str]:
        """Return the languages of all pairs."""
        return {code for pair in self.grouped() for code in pair}

    def counts(self) -> np.ndarray:
        """Return the number of pairs of each bitext."""
        return np.bincount(self.bitext, minlength=len(self.languages))

    def draw(self, exponent: float, random: np.random.Generator) -> np.ndarray:
        """Draw the indices of the pairs for an epoch. Their number equals the number of pairs.

        With exponent 1, each pair is used once. Otherwise the share of a bitext is proportional to
        its size to the power of `exponent`. All its pairs are repeated equally often, as far as the
        share allows. The remainder is drawn at random each epoch.

        Args:
            exponent: 0 for equal numbers of pairs, 1 for sampling in proportion to the data.
        """
        if exponent == 1:
            return np.arange(len(self))
        shares = language_shares(self.counts(), exponent)
        ends = np.round(np.cumsum(shares) * len(self)).astype(int)
        wanted = np.diff(ends, prepend=0)
        chosen = []
        for number, count in enumerate(wanted.tolist()):
            own = np.flatnonzero(self.bitext == number)
            if len(own):
                whole, rest = divmod(count, len(own))
                chosen += [own] * whole + [random.permutation(own)[:rest]]
        return np.concatenate(chosen)

    def first_chosen(self) -> np.ndarray:
        """Return the probability that a bitext reconstructs from the semantic vector of its first
        side.

        If all bitexts are equally frequent, every language is then used equally often (thesis,
        chapter 5, footnote 24).
        """
        found = first_side_probabilities(self.languages)
        return np.array([found[pair] for pair in self.languages])

    def translation_weights(self) -> dict[str, float]:
        """Return the loss weight of translation into each language (thesis, 5.13.1).

        With bitexts between English and N other languages, the weight is 1 / (N + 1) for English
        and N / (N + 1) for each other language. If all bitexts are equally frequent, all languages
        then have the same influence.
        """
        bitexts = [pair for pair, n in zip(self.languages, self.counts(), strict=True) if n]
        count = Counter(language for pair in bitexts for language in pair)
        return {code: len(bitexts) / (len(count) * n) for code, n in count.items()}
