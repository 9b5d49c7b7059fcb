"""Which words translations get right: F1 by the frequency and by the part of speech of words, and
how often a translation repeats itself (thesis, 7.5.4, Table 70, and 7.4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

BUCKETS = ((0, 0), (1, 1), (2, 5), (6, 10), (11, 100), (101, 1000), (1001, None))
Words = Sequence[Sequence[str]]
Word = TypeVar("Word", bound=Hashable)
Tag = Callable[[Words], list[list[str]]]

# coarse tags of the Penn Treebank's; those of Universal Dependencies are coarse already
PENN = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "CD": "NUM", "JJ": "ADJ",
    "JJR": "ADJ", "JJS": "ADJ", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "WRB": "ADV",
    "VB": "VERB", "VBD": "VERB", "VBG": "VERB", "VBN": "VERB", "VBP": "VERB", "VBZ": "VERB",
    "MD": "AUX", "DT": "DET", "PDT": "DET", "WDT": "DET", "PRP": "PRON", "PRP$": "PRON",
    "WP": "PRON", "WP$": "PRON", "EX": "PRON", "IN": "ADP", "TO": "PART", "RP": "PART",
    "POS": "PART", "CC": "CCONJ", "UH": "INTJ", "SYM": "SYM", "$": "SYM", "#": "SYM", "FW": "X",
    "LS": "X", ".": "PUNCT", ",": "PUNCT", ":": "PUNCT", "``": "PUNCT", "''": "PUNCT",
    "-LRB-": "PUNCT", "-RRB-": "PUNCT", "HYPH": "PUNCT", "NFP": "PUNCT", "ADD": "X", "AFX": "X",
    "GW": "X", "XX": "X",
}  # fmt: skip


def bucket_f1(
    hypotheses: Sequence[Sequence[Word]],
    references: Sequence[Sequence[Word]],
    bucket: Callable[[Word], str | None],
) -> dict[str, float]:
    """F1 of the words of each bucket, x 100 (Table 70).

    A word of an output is right as often as its reference has it. Precision is over the words of
    the outputs that are in the bucket, recall over those of the references.

    Args:
        hypotheses: For each segment the words of the output; or words with their tags.
        bucket: The bucket of a word; None for a word that is in none.

    Returns:
        F1 by bucket, of those that a reference has a word of; 0 where no word is right.

    Example:
        >>> bucket_f1([["a", "cat"]], [["the", "cat"]], lambda word: str(len(word)))
        {'3': 66.66666666666667}
    """
    right: Counter[str] = Counter()
    written: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for own, other in zip(hypotheses, references, strict=True):
        counts, right_counts = Counter(own), Counter(other)
        for counter, into in (
            (counts, written),
            (right_counts, wanted),
            (counts & right_counts, right),
        ):
            for word, count in counter.items():
                name = bucket(word)
                if name is not None:
                    into[name] += count
    return {name: 200 * right[name] / (written[name] + wanted[name]) for name in wanted}


def frequency_bucket(frequencies: Mapping[str, int]) -> Callable[[str], str]:
    """The bucket of a word's frequency, as in Table 70: 1, 2-5, 6-10, 11-100, 101-1000, 1001+; and
    0, of words that the counted text does not have.

    Example:
        >>> frequency_bucket({"cat": 7})("cat"), frequency_bucket({})("cat")
        ('6-10', '0')
    """

    def bucket(word: str) -> str:
        count = frequencies.get(word, 0)
        for low, high in BUCKETS:
            if high is None or count <= high:
                return f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"
        raise AssertionError("the last bucket has no end")

    return bucket


def bucket_names() -> list[str]:
    """The buckets of frequencies, the rarest first."""
    name = frequency_bucket({str(low): low for low, _ in BUCKETS})
    return [name(str(low)) for low, _ in BUCKETS]


def word_frequencies(lines: Iterable[Sequence[str]]) -> Counter[str]:
    """How often each word is in some sentences."""
    return Counter(word for words in lines for word in words)


def tag_f1(hypotheses: Words, references: Words, tag: Tag) -> dict[str, float]:
    """F1 of words by coarse part of speech, x 100 (Table 70): a word is right with its tag.

    Args:
        tag: From sentences of words to their tags, of the Penn Treebank or of Universal
            Dependencies, such as `Tagger.tag`.
    """

    def tagged(side: Words) -> list[list[tuple[str, str]]]:
        return [
            [(word, coarse(of_word)) for word, of_word in zip(words, tags, strict=True)]
            for words, tags in zip(side, tag(side), strict=True)
        ]

    return bucket_f1(tagged(hypotheses), tagged(references), lambda pair: pair[1])


def coarse(tag: str) -> str:
    """The coarse part of speech of a tag.

    Example:
        >>> coarse("NNS"), coarse("NOUN")
        ('NOUN', 'NOUN')
    """
    return PENN.get(tag, tag)


def repetition_rate(outputs: Words, order: int = 2) -> float:
    """Share of the n-grams of outputs that were in the same output before, x 100.

    The thesis found its Turkish system worse by repetition (7.4.3); the rate of the references
    beside it says how much of that is language.

    Args:
        order: Words of an n-gram, at least 1.

    Returns:
        0 to 100; 0 where no output is long enough.

    Example:
        >>> repetition_rate([["the", "cat", "the", "cat"]])
        33.333333333333336
    """
    there = repeated = 0
    for words in outputs:
        ngrams = list(zip(*(words[start:] for start in range(order)), strict=False))
        there += len(ngrams)
        repeated += len(ngrams) - len(set(ngrams))
    return 100 * repeated / there if there else 0.0


def length_ratio(outputs: Words, references: Words) -> float:
    """Words of the outputs for each word of the references."""
    own, other = (np.array([len(words) for words in side]).sum() for side in (outputs, references))
    return float(own / other) if other else float("nan")
