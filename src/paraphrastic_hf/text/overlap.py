"""Word n-gram overlap of two texts (thesis, 4.5.4 and 6.3.3), and lemmas (3.5.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from paraphrastic_hf.errors import RecipeError

WORD = re.compile(r"\w+|[^\w\s]")


def word_ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    """Return n-grams of lower-cased words and punctuation marks, in order.

    Example:
        >>> word_ngrams("Stay here!", 2)
        [('stay', 'here'), ('here', '!')]
    """
    tokens = WORD.findall(text.lower())
    return list(zip(*(tokens[start:] for start in range(n)), strict=False))


def ngram_overlap(first: str, second: str, n: int) -> float:
    """Return the number of shared n-grams, divided by the n-grams of the text that has fewer.

    This is the trigram overlap of thesis 4.5.4 (n = 3). The thesis does not define the "n-gram
    overlap" of 6.3.3, which is read as n = 1. Repeated n-grams count as often as both texts contain
    them. The released code instead counts every trigram of the shorter text that occurs in the
    longer one, over NLTK tokens. Here a token is a run of letters and digits, or a punctuation
    mark.

    Returns:
        0 (nothing shared, or no n-grams) to 1 (the shorter text is contained).

    Example:
        >>> ngram_overlap("the cat sat down", "a cat sat down", 3)
        0.5
        >>> ngram_overlap("She drove home.", "home she drove", 1)
        1.0
    """
    left, right = (Counter(word_ngrams(text, n)) for text in (first, second))
    fewest = min(left.total(), right.total())
    return (left & right).total() / fewest if fewest else 0.0


def lemmatize(texts: Sequence[str]) -> list[str]:
    """Replace the words of each text, separated by spaces, by simplemma's lemmas."""
    try:
        import simplemma
    except ImportError as error:
        raise RecipeError(
            "training.exclude partners_and_lemmas needs simplemma. Run pip install "
            "'paraphrastic-hf[lemmas]', or set it to partners"
        ) from error
    return [
        " ".join(simplemma.lemmatize(word, lang="en") for word in text.split()) for text in texts
    ]
