"""Sentence BLEU and chrF of one text against many (thesis, 7.3; Lin and Och, 2004; Popovic, 2015).

Each text is split into n-grams once. Repetitions of an n-gram are numbered, so the number of
clipped matches is the size of a set intersection.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.extras import require

WORD_ORDER, CHAR_ORDER, BETA = 4, 6, 2


@dataclass(frozen=True)
class Profile:
    """N-grams of a text."""

    length: int  # number of tokens
    ngrams: tuple[frozenset[Any], ...]  # of each order, from 1


def word_cutter() -> Callable[[str], Profile]:
    """Return a function that splits a text into n-grams of one to four tokens (sacrebleu's 13a)."""
    require("compare", "sacrebleu", what="BLEU")
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    cut = Tokenizer13a()

    def profile(text: str) -> Profile:
        tokens = cut(text.rstrip()).split()
        return Profile(len(tokens), _orders(tokens, WORD_ORDER))

    return profile


def char_profile(text: str) -> Profile:
    """Split a text into n-grams of one to six characters, without white space."""
    characters = "".join(text.split())
    return Profile(len(characters), _orders(characters, CHAR_ORDER))


def smoothed_bleu(hypothesis: Profile, reference: Profile) -> float:
    """Compute BLEU, 0 to 1, with add-one smoothing for n > 1 (sacrebleu's `add-k`; thesis, 7.3)."""
    matches = len(hypothesis.ngrams[0] & reference.ngrams[0])
    if not matches:
        return 0.0
    logarithms = math.log(matches / hypothesis.length)
    for own, other in zip(hypothesis.ngrams[1:], reference.ngrams[1:], strict=True):
        logarithms += math.log((len(own & other) + 1) / (len(own) + 1))
    brevity = min(0.0, 1 - reference.length / hypothesis.length)
    return math.exp(brevity + logarithms / WORD_ORDER)


def chrf_score(hypothesis: Profile, reference: Profile) -> float:
    """Compute chrF2, 0 to 1, of two texts split by `char_profile`, as sacrebleu does by default."""
    precision = recall = 0.0
    orders = 0
    for own, other in zip(hypothesis.ngrams, reference.ngrams, strict=True):
        if own and other:
            matches = len(own & other)
            precision, recall = precision + matches / len(own), recall + matches / len(other)
            orders += 1
    if not precision:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _orders(tokens: Sequence[Hashable], most: int) -> tuple[frozenset[Any], ...]:
    orders = (zip(*(tokens[i:] for i in range(n)), strict=False) for n in range(1, most + 1))
    return tuple(map(_numbered, orders))


def _numbered(ngrams: Iterable[Hashable]) -> frozenset[Any]:
    """Pair the second and later occurrences of an n-gram with their number."""
    seen: dict[Hashable, int] = {}
    entries: list[Any] = []
    for ngram in ngrams:
        count = seen.get(ngram, 0)
        seen[ngram] = count + 1
        entries.append((ngram, count) if count else ngram)
    return frozenset(entries)
