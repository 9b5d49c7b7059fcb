"""Translations between any two of several languages, and how often each is seen (thesis, 5.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paraphrastic_hf.corpora.filters import first_side_probabilities
from paraphrastic_hf.training.data.batching import plan_pair_batches
from paraphrastic_hf.training.data.corpus import PairCorpus, language_shares


@dataclass(frozen=True)
class Bitexts:
    """Pairs of sentences in two languages each.

    Attributes:
        languages: The two languages of each bitext, in an order that all bitexts share.
        sides: (pairs, 2) numbers of the sentences, in the order of the bitext's languages.
        bitext: (pairs,) number of the bitext that each pair is of.
    """

    languages: list[tuple[str, str]]
    sides: np.ndarray
    bitext: np.ndarray

    def __len__(self) -> int:
        return len(self.sides)

    @classmethod
    def of(cls, corpus: PairCorpus, order: Sequence[str]) -> Bitexts:
        """The bitexts of a corpus whose every pair is of two languages.

        Args:
            order: Codes of all its languages; of a bitext, the one named first here comes first.
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
        """Some of the pairs, by number or by a mask."""
        return replace(self, sides=self.sides[chosen], bitext=self.bitext[chosen])

    def grouped(self) -> dict[tuple[str, str], np.ndarray]:
        """The sides of the pairs of each bitext that has any, by its languages."""
        found = {pair: self.sides[self.bitext == i] for i, pair in enumerate(self.languages)}
        return {pair: sides for pair, sides in found.items() if len(sides)}

    def codes(self) -> set[str]:
        """The languages of its pairs."""
        return {code for pair in self.grouped() for code in pair}

    def counts(self) -> np.ndarray:
        """Pairs of each bitext."""
        return np.bincount(self.bitext, minlength=len(self.languages))

    def shares(self, exponent: float) -> np.ndarray:
        """The share of an epoch's pairs that each bitext has: proportional to its pairs to the
        power of `exponent`."""
        return language_shares(self.counts(), exponent)

    def draw(self, exponent: float, random: np.random.Generator) -> np.ndarray:
        """The numbers of an epoch's pairs, as many as there are.

        With exponent 1 each is seen once. Else a bitext has the share that `shares` says: its pairs
        are seen so many whole times, and the rest are drawn anew each epoch.

        Args:
            exponent: 0 for equally many pairs of each bitext, 1 for as many as it has.
        """
        if exponent == 1:
            return np.arange(len(self))
        ends = np.round(np.cumsum(self.shares(exponent)) * len(self)).astype(int)
        wanted = np.diff(ends, prepend=0)
        chosen = []
        for number, count in enumerate(wanted.tolist()):
            own = np.flatnonzero(self.bitext == number)
            if len(own):
                whole, rest = divmod(count, len(own))
                chosen += [own] * whole + [random.permutation(own)[:rest]]
        return np.concatenate(chosen)

    def first_chosen(self) -> np.ndarray:
        """For each bitext, how often the first side's meaning serves reconstruction (footnote 24 of
        chapter 5): every language serves equally often where all bitexts are seen equally often."""
        found = first_side_probabilities(self.languages)
        return np.array([found[pair] for pair in self.languages])

    def translation_weights(self) -> dict[str, float]:
        """The weight of translation into each language (thesis, 5.13.1): N / (N + 1) for each of N
        languages beside English, and 1 / (N + 1) for English, which is in every bitext; so all
        count alike where bitexts are seen equally often."""
        bitexts = [pair for pair, n in zip(self.languages, self.counts(), strict=True) if n]
        count = Counter(language for pair in bitexts for language in pair)
        return {code: len(bitexts) / (len(count) * n) for code, n in count.items()}


def plan_bitext_batches(
    bitexts: Bitexts,
    exponent: float,
    lengths: np.ndarray,
    *,
    max_tokens: int,
    max_examples: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Cut an epoch into batches of pairs of like lengths and the same languages, in random order.

    Args:
        exponent: How even languages are, as `Bitexts.draw` takes it.
        lengths: Tokens of each side, (pairs, 2).
        max_tokens: Most tokens of a batch, as `plan_pair_batches` takes it.

    Returns:
        The numbers of the pairs of each batch.
    """
    drawn = bitexts.draw(exponent, random)
    plan = []
    for number in range(len(bitexts.languages)):
        own = drawn[bitexts.bitext[drawn] == number]
        batches = plan_pair_batches(
            lengths[own], max_tokens=max_tokens, max_examples=max_examples, random=random
        )
        plan += [own[batch] for batch in batches]
    if len(bitexts.languages) > 1:  # those of one bitext are in random order already
        plan = [plan[number] for number in random.permutation(len(plan))]
    return plan
