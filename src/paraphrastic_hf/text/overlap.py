"""How many n-grams of words two texts share (thesis, 4.5.4 and 6.3.3), and lemmas (3.5.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from paraphrastic_hf.errors import RecipeError

WORD = re.compile(r"\w+|[^\w\s]")


def word_ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    """N-grams of lower-cased words and punctuation marks, in order.

    Example:
        >>> word_ngrams("Stay here!", 2)
        [('stay', 'here'), ('here', '!')]
    """
    tokens = WORD.findall(text.lower())
    return list(zip(*(tokens[start:] for start in range(n)), strict=False))


def ngram_overlap(first: str, second: str, n: int) -> float:
    """Shared n-grams over those of the side that has fewer; 0 if it has none.

    With n = 3 it is the trigram overlap of thesis 4.5.4. With n = 1 it is how the "n-gram overlap"
    of 6.3.3 is read, of which the thesis says no more. An n-gram is shared as often as both sides
    have it. The released code counts each trigram of the shorter side that the longer has at all,
    over NLTK tokens; here a token is a run of letters and digits, or a mark.

    Returns:
        0 (nothing shared) to 1 (the shorter side is contained).

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
    """Replace the words of each text, cut at spaces, by their dictionary forms.

    The forms are those of simplemma, which works offline.
    """
    try:
        import simplemma
    except ImportError as error:
        raise RecipeError(
            "training.exclude partners_and_lemmas needs simplemma: "
            "pip install 'paraphrastic-hf[lemmas]', or set it to partners"
        ) from error
    return [
        " ".join(simplemma.lemmatize(word, lang="en") for word in text.split()) for text in texts
    ]
