import re
from collections import Counter
from collections.abc import Sequence

from paraphrastic_hf.extras import require

WORD = re.compile(r"\w+|[^\w\s]")
LONG_WORD = re.compile(r"[^\W\d_]{4,}")


def word_ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    """Return n-grams of lower-cased words and punctuation marks, in order."""
    tokens = WORD.findall(text.lower())
    return list(zip(*(tokens[start:] for start in range(n)), strict=False))


def ngram_overlap(first: str, second: str, n: int) -> float:
    """Return the number of shared n-grams divided by the number of n-grams of the shorter text.

    It is 0 for a text without n-grams. An n-gram that occurs a and b times counts min(a, b) times.
    With n = 3 this is the trigram overlap of thesis 4.5.4. For the undefined "n-gram overlap" of
    6.3.3, this package uses n = 1. Tokens are runs of letters and digits, and punctuation marks.
    """
    left, right = (Counter(word_ngrams(text, n)) for text in (first, second))
    fewest = min(left.total(), right.total())
    return (left & right).total() / fewest if fewest else 0.0


def lemmatize(texts: Sequence[str]) -> list[str]:
    """Replace each word, separated by spaces, by its lemma from simplemma (thesis, 3.5.1)."""
    require(
        "lemmas",
        "simplemma",
        what="training.exclude partners_and_lemmas",
        instead="set training.exclude to partners",
    )
    import simplemma

    return [
        " ".join(simplemma.lemmatize(word, lang="en") for word in text.split()) for text in texts
    ]


def repeated_word(source: str, written: str) -> str:
    """Return a word of four letters or more that is repeated in `written` only, or "".

    Example:
        >>> repeated_word("a brown teddy bear and toys", "a teddy bear is a teddy bear")
        'teddy'
        >>> repeated_word("red fish, blue fish", "a red fish and a blue fish")
        ''
    """
    known, counts = (Counter(LONG_WORD.findall(text.lower())) for text in (source, written))
    found = (word for word, count in counts.items() if count > max(1, known[word]))
    return next(found, "")
