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
    """Sentence pairs, grouped into one bitext per language pair."""

    languages: list[tuple[str, str]]  # of each bitext, in the order that `of` was given
    sides: np.ndarray  # indices of the two sentences of each pair, (pairs, 2)
    bitext: np.ndarray  # index of each pair's bitext, (pairs,)

    def __len__(self) -> int:
        return len(self.sides)

    @classmethod
    def of(cls, corpus: PairCorpus, order: Sequence[str]) -> Bitexts:
        """Group the pairs of a corpus by language pair. `order` lists all language codes."""
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
        """Return the pairs that indices or a mask select."""
        return replace(self, sides=self.sides[chosen], bitext=self.bitext[chosen])

    def grouped(self) -> dict[tuple[str, str], np.ndarray]:
        """Return the `sides` of each non-empty bitext, by language pair."""
        found = {pair: self.sides[self.bitext == i] for i, pair in enumerate(self.languages)}
        return {pair: sides for pair, sides in found.items() if len(sides)}

    def codes(self) -> set[str]:
        """Return the languages of all pairs."""
        return {code for pair in self.grouped() for code in pair}

    def counts(self) -> np.ndarray:
        """Return the number of pairs in each bitext."""
        return np.bincount(self.bitext, minlength=len(self.languages))

    def draw(self, exponent: float, random: np.random.Generator) -> np.ndarray:
        """Sample an epoch: indices of as many pairs as the bitexts have.

        The share of a bitext is proportional to its size to the power of `exponent`: 1 uses every
        pair once, 0 gives all bitexts the same number of pairs.
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
        """Return for each bitext the probability that reconstruction reads its first side.

        With equally frequent bitexts, all languages are read equally often (thesis, chapter 5,
        footnote 24).
        """
        found = first_side_probabilities(self.languages)
        return np.array([found[pair] for pair in self.languages])

    def translation_weights(self) -> dict[str, float]:
        """Return the loss weight of translation into each language (thesis, 5.13.1).

        With equally frequent bitexts, the weights give every language the same influence.
        """
        bitexts = [pair for pair, n in zip(self.languages, self.counts(), strict=True) if n]
        count = Counter(language for pair in bitexts for language in pair)
        return {code: len(bitexts) / (len(count) * n) for code, n in count.items()}
