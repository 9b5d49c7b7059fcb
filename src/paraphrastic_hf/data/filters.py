"""Filters of paraphrase and bitext rows: score, trigram overlap, length (thesis, 4.5.4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from paraphrastic_hf.errors import DataError

_TOKEN = re.compile(r"\w+|[^\w\s]")


def word_trigrams(text: str) -> list[tuple[str, str, str]]:
    """Trigrams of lower-cased words and punctuation marks, in order."""
    tokens = _TOKEN.findall(text.lower())
    return list(zip(tokens, tokens[1:], tokens[2:], strict=False))


def trigram_overlap(first: str, second: str) -> float:
    """Shared trigrams over those of the side that has fewer (thesis, 4.5.4); 0 if it has none.

    A trigram is shared as often as both sides have it. The released code counts each trigram of
    the shorter side that the longer has at all, over NLTK tokens; here a token is a run of letters
    and digits, or a mark.

    Returns:
        0 (nothing shared) to 1 (the shorter side is contained).

    Example:
        >>> trigram_overlap("the cat sat down", "a cat sat down")
        0.5
    """
    left, right = word_trigrams(first), word_trigrams(second)
    fewest = min(len(left), len(right))
    return (Counter(left) & Counter(right)).total() / fewest if fewest else 0.0


@dataclass(frozen=True)
class PairFilter:
    """Which pairs to keep; None asks nothing.

    Attributes:
        min_score: Smallest paraphrase score; SIM's data has 0.5 (thesis, footnote 3 of chapter 7).
        max_score: Largest score.
        max_overlap: Largest trigram overlap; SIM's data has 0.2.
        min_words: Fewest words a side may have (white space); bitext has 5 (thesis, 5.6.2).
        max_words: Most words; ParaNMT's 5M has 30 (thesis, 4.5.4), bitext 100.
    """

    min_score: float | None = None
    max_score: float | None = None
    max_overlap: float | None = None
    min_words: int | None = None
    max_words: int | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing can pass.

        Raises:
            DataError: A bound is negative, or a lower one is above its upper one.
        """
        for name in ("max_overlap", "min_words", "max_words"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise DataError(f"{name} must be 0 or more, got {value}")
        for name in ("score", "words"):
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if low is not None and high is not None and low > high:
                raise DataError(f"min_{name} {low} is above max_{name} {high}: nothing passes")

    def keeps(self, first: str, second: str, score: float | None = None) -> bool:
        """Whether a pair passes; the cheap questions first."""
        if score is not None:
            if self.min_score is not None and score < self.min_score:
                return False
            if self.max_score is not None and score > self.max_score:
                return False
        if self.min_words is not None or self.max_words is not None:
            fewest, most = sorted((len(first.split()), len(second.split())))
            if self.min_words is not None and fewest < self.min_words:
                return False
            if self.max_words is not None and most > self.max_words:
                return False
        return self.max_overlap is None or trigram_overlap(first, second) <= self.max_overlap


def unique_word_pairs(
    pairs: Iterable[tuple[str, str]], vocabulary: frozenset[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Word pairs fit for training word vectors (thesis, 3.5.2).

    Pairs with a digit, with a word outside the vocabulary, of equal words, or seen before in
    either order are left out.

    Args:
        pairs: Word pairs.
        vocabulary: The words that have vectors; any word if None.
    """
    seen: set[tuple[str, str]] = set()
    for first, second in pairs:
        key = (first, second) if first < second else (second, first)
        has_digit = any(character.isdigit() for character in first + second)
        if has_digit or first == second or key in seen:
            continue
        if vocabulary is not None and not (first in vocabulary and second in vocabulary):
            continue
        seen.add(key)
        yield first, second


def pairing_constraints(
    pairs: Iterable[tuple[str, str]], lemma: Callable[[str], str]
) -> dict[str, frozenset[str]]:
    """For each word, those that must not be its negatives (thesis, 3.5.1).

    They are the word itself, all words it is paired with, and the lemmas of those.

    Args:
        pairs: Training pairs.
        lemma: A word's lemma, such as `simplemma.lemmatize` with `lang="en"`.

    Example:
        >>> lemma = {"cats": "cat"}.get
        >>> sorted(pairing_constraints([("felines", "cats")], lambda w: lemma(w, w))["felines"])
        ['cat', 'cats', 'felines']
    """
    known: dict[str, set[str]] = {}
    for first, second in pairs:
        for word, other in ((first, second), (second, first)):
            known.setdefault(word, {word, lemma(word)}).update((other, lemma(other)))
    return {word: frozenset(words) for word, words in known.items()}


def first_side_probabilities(bitexts: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """How often the first side of each bitext feeds the semantic encoder (thesis, 5.12).

    A language that is in many bitexts, mostly English, is chosen less, so that all are fed about
    equally often (footnote 24 of chapter 5): with N bitexts that share English, English is chosen
    with probability 1 / (N + 1), as the loss weights of 5.13.1 have it.

    Args:
        bitexts: The two languages of each bitext.

    Example:
        >>> first_side_probabilities([("en", "fr"), ("en", "de"), ("en", "es")])[("en", "fr")]
        0.25
    """
    pairs = list(bitexts)
    count = Counter(language for pair in pairs for language in pair)
    return {
        (first, second): count[second] / (count[first] + count[second]) for first, second in pairs
    }
