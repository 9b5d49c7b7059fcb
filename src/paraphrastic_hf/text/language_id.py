"""Language identification with py3langid."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from paraphrastic_hf.extras import require

SHORTEST = 20  # minimum length of a text, in bytes of UTF-8
FEWEST = 10  # minimum number of such texts
SURE = 0.6  # minimum share of such texts in the detected language


def languages_of(texts: Sequence[str]) -> list[str]:
    """Return the two-letter code (ISO 639-1) of each text's language.

    Texts of a few words are often misidentified.
    """
    return [str(_identifier().classify(text)[0]) for text in texts]


def main_language(texts: Sequence[str]) -> tuple[str, float]:
    """Return the most frequent language of one or more texts, and its share of the texts."""
    code, count = Counter(languages_of(texts)).most_common(1)[0]
    return code, count / len(texts)


def clear_language(texts: Sequence[str]) -> str | None:
    """Return the code of the language that at least 60 % of the texts are in.

    Texts shorter than 20 bytes are ignored. The result is None if no language reaches 60 %, or if
    fewer than 10 texts remain.
    """
    long_enough = [text for text in texts if len(text.encode("utf-8", "replace")) >= SHORTEST]
    if len(long_enough) < FEWEST:
        return None
    code, share = main_language(long_enough)
    return code if share >= SURE else None


def doubts(texts: Sequence[str], code: str) -> list[tuple[str, float]]:
    """Return the most probable language of each text, and the doubt that it is in language `code`.

    The doubt is the logarithm of the ratio of their probabilities. It is 0 if `code` is the most
    probable language, and grows with the length of the text.
    """
    found = []
    for text in texts:
        scores = dict(_identifier().rank(text))
        best = max(scores, key=scores.__getitem__)
        # py3langid divides by this root too. Its features depend on each other.
        root = math.sqrt(len(text.encode("utf-8", "replace")) or 1)
        found.append((best, (scores[best] - scores[code]) / root))
    return found


def known_languages() -> frozenset[str]:
    return frozenset(map(str, _identifier().labels))


@cache
def _identifier() -> Any:
    require("identify", "py3langid", what="language identification")
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
