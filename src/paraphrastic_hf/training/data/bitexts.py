"""Bitext between any two of several languages, and its sampling (thesis, 5.12)."""

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
        bitext: (pairs,) number of each pair's bitext.
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
            order: Codes of all languages, which sets the order of the sides of each bitext.
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
        """Select pairs by number or by a mask."""
        return replace(self, sides=self.sides[chosen], bitext=self.bitext[chosen])

    def grouped(self) -> dict[tuple[str, str], np.ndarray]:
        """Return the `sides` of each non-empty bitext, by its languages."""
        found = {pair: self.sides[self.bitext == i] for i, pair in enumerate(self.languages)}
        return {pair: sides for pair, sides in found.items() if len(sides)}

    def codes(self) -> set[str]:
        """Return the languages of all pairs."""
        return {code for pair in self.grouped() for code in pair}

    def counts(self) -> np.ndarray:
        """Return the number of pairs of each bitext."""
        return np.bincount(self.bitext, minlength=len(self.languages))

    def draw(self, exponent: float, random: np.random.Generator) -> np.ndarray:
        """Draw the pair numbers of an epoch, as many as there are pairs.

        With exponent 1, each pair is used once. Otherwise the share of a bitext is proportional to
        its size to the power of `exponent`. Its pairs are repeated as often as fits, and the rest
        is drawn anew each epoch.

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
        """Return how often each bitext reconstructs from its first side's semantic vector.

        With equally frequent bitexts, every language is used equally often (thesis, chapter 5,
        footnote 24).
        """
        found = first_side_probabilities(self.languages)
        return np.array([found[pair] for pair in self.languages])

    def translation_weights(self) -> dict[str, float]:
        """Return the loss weight of translation into each language (thesis, 5.13.1).

        For English bitexts with N other languages, it is N / (N + 1) for each of these and
        1 / (N + 1) for English. With equally frequent bitexts, all languages then count equally.
        """
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
    """Cut an epoch into batches of pairs of similar lengths and equal languages, in random order.

    Args:
        exponent: As in `Bitexts.draw`.
        lengths: Tokens of each side, (pairs, 2).
        max_tokens: As in `plan_pair_batches`.

    Returns:
        The pair numbers of each batch.
    """
    drawn = bitexts.draw(exponent, random)
    plan = []
    for number in range(len(bitexts.languages)):
        own = drawn[bitexts.bitext[drawn] == number]
        batches = plan_pair_batches(
            lengths[own], max_tokens=max_tokens, max_examples=max_examples, random=random
        )
        plan += [own[batch] for batch in batches]
    if len(bitexts.languages) > 1:  # batches of a single bitext are shuffled already
        plan = [plan[number] for number in random.permutation(len(plan))]
    return plan
