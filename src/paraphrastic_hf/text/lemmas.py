"""Lemmas of English words, for the constraints of word pairs (thesis, 3.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from paraphrastic_hf.errors import RecipeError


def lemmatize(texts: Sequence[str]) -> list[str]:
    """Replace the words of each text, cut at spaces, by their dictionary forms.

    The forms are those of simplemma, which works offline.

    Raises:
        RecipeError: simplemma is not installed.

    Example:
        >>> lemmatize(["cats", "went"])  # doctest: +SKIP
        ['cat', 'go']
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
