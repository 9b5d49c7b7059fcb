"""Which language a text is in, by the package py3langid, whose model comes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from paraphrastic_hf.extras import require

SHORTEST = 20  # bytes of UTF-8; of shorter texts languages cannot be told
FEWEST = 10  # longer texts than that must be there
SURE = 0.6  # share of them that must be in one language


def languages_of(texts: Sequence[str]) -> list[str]:
    """Say which language each text is in.

    Args:
        texts: Texts; of a few words the answer is often wrong.

    Returns:
        The two-letter code (ISO 639-1) of each.

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


def clear_language(texts: Sequence[str]) -> str | None:
    """Say which language texts are in, where that is clear.

    Args:
        texts: Any texts; those below 20 bytes of UTF-8 do not count.

    Returns:
        The code of the language of most; None where fewer than 10 texts count, or less than six
        tenths of them are in one language.

    Example:
        >>> clear_language(["the cat sleeps on the wall"] * 10), clear_language(["a cat"])
        ('en', None)
    """
    long_enough = [text for text in texts if len(text.encode("utf-8", "replace")) >= SHORTEST]
    if len(long_enough) < FEWEST:
        return None
    code, share = main_language(long_enough)
    return code if share >= SURE else None


def known_languages() -> frozenset[str]:
    """The codes that `languages_of` can answer with."""
    return frozenset(map(str, _identifier().labels))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
