"""Word F1 and repetition of translations (thesis, 7.5.4, Table 70, and 7.4.3)."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

BUCKETS = ((0, 0), (1, 1), (2, 5), (6, 10), (11, 100), (101, 1000), (1001, None))
Words = Sequence[Sequence[str]]
Word = TypeVar("Word", bound=Hashable)
Tag = Callable[[Words], list[list[str]]]

# Penn Treebank tag -> coarse tag. Universal Dependencies tags are coarse already.
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
    """Return the F1 of the words of each bucket, x 100 (Table 70).

    An output word is correct if it occurs in the segment's reference, at most as often as there.
    Precision is computed over the bucket's words in the outputs, recall over its words in the
    references. Buckets without words in the references, and words with bucket None, are left out.
    """
    both: Counter[str] = Counter()  # words of outputs and of references
    right: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for own, other in zip(hypotheses, references, strict=True):
        counts = Counter(own), Counter(other)
        for counter, into in (
            (counts[0] + counts[1], both),
            (counts[1], wanted),
            (counts[0] & counts[1], right),
        ):
            for word, count in counter.items():
                if (name := bucket(word)) is not None:
                    into[name] += count
    return {name: 200 * right[name] / both[name] for name in wanted}


def frequency_bucket(frequencies: Mapping[str, int]) -> Callable[[str], str]:
    """Return a function from a word to its frequency bucket.

    The buckets are 1, 2-5, 6-10, 11-100, 101-1000 and 1001+ as in Table 70. Words without a count
    are in bucket 0.
    """

    def bucket(word: str) -> str:
        count = frequencies.get(word, 0)
        low, high = next((low, high) for low, high in BUCKETS if high is None or count <= high)
        return f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"

    return bucket


def bucket_names() -> list[str]:
    name = frequency_bucket({str(low): low for low, _ in BUCKETS})
    return [name(str(low)) for low, _ in BUCKETS]


def tag_f1(hypotheses: Words, references: Words, tag: Tag) -> dict[str, float]:
    """Return the F1 of words by coarse part of speech, x 100 (Table 70).

    A word is correct only if the reference has the word with an equal part of speech. `tag` returns
    Penn Treebank or Universal Dependencies tags, such as `Tagger.tag`.
    """

    def tagged(side: Words) -> list[list[tuple[str, str]]]:
        return [
            [(word, coarse(of_word)) for word, of_word in zip(words, tags, strict=True)]
            for words, tags in zip(side, tag(side), strict=True)
        ]

    return bucket_f1(tagged(hypotheses), tagged(references), lambda pair: pair[1])


def coarse(tag: str) -> str:
    """Return the coarse part of speech of a Penn Treebank or Universal Dependencies tag."""
    return PENN.get(tag, tag)


def repetition_rate(outputs: Words, order: int = 2) -> float:
    """Return the percentage of n-grams that occurred earlier in the same output.

    Compare it with the references' rate, since some repetition is normal (thesis, 7.4.3). It is 0
    if no output is long enough.
    """
    there = repeated = 0
    for words in outputs:
        ngrams = list(zip(*(words[start:] for start in range(order)), strict=False))
        there += len(ngrams)
        repeated += len(ngrams) - len(set(ngrams))
    return 100 * repeated / there if there else 0.0


def length_ratio(outputs: Words, references: Words) -> float:
    """Return the number of words in the outputs divided by the number in the references."""
    own, other = (sum(map(len, side)) for side in (outputs, references))
    return own / other if other else float("nan")
