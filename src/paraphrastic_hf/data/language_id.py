"""Which language a text is in, by the package py3langid, whose model comes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from paraphrastic_hf.extras import require


def languages_of(texts: Sequence[str]) -> list[str]:
    """Say which language each text is in.

    Args:
        texts: Texts; of a few words the answer is often wrong.

    Returns:
        The two-letter code (ISO 639-1) of each.

    Raises:
        MissingExtraError: The extra `identify` is not installed.

    Example:
        >>> languages_of(["the cat sleeps on the wall", "le chat dort sur le mur"])
        ['en', 'fr']
    """
    require("identify", "py3langid", what="telling languages apart")
    return [str(_identifier().classify(text)[0]) for text in texts]


def main_language(texts: Sequence[str]) -> tuple[str, float]:
    """Say which language most texts are in, and the share of them that are.

    Args:
        texts: At least one text.

    Example:
        >>> main_language(["the cat sleeps on the wall", "it was raining all night"])
        ('en', 1.0)
    """
    code, count = Counter(languages_of(texts)).most_common(1)[0]
    return code, count / len(texts)


def known_languages() -> frozenset[str]:
    """The codes that `languages_of` can answer with."""
    return frozenset(map(str, _identifier().labels))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
