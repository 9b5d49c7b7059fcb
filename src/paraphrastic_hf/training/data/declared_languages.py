"""Whether the text of bitext is in the languages that a recipe says it is in."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.text.language_id import clear_language, known_languages
from paraphrastic_hf.training.data.sources import SourcePairs

logger = logging.getLogger(__name__)

SAMPLED = 200  # pairs of a source that are looked at


def warn_of_languages(sources: Sequence[SourcePairs], seed: int) -> None:
    """Warn of sides in another language than declared, most often because they stand in the other
    order, and of two codes for one language; if py3langid is installed."""
    if importlib.util.find_spec("py3langid") is None:
        logger.info(
            "whether text is in the languages it is declared in was not looked at: pip install "
            "'paraphrastic-hf[identify]'"
        )
        return
    seen: dict[str, str] = {}  # the language that each declared code was found to be
    for item in sources:
        declared = list(item.source.languages or ())
        found = [_language(item, side, seed) for side in range(len(declared))]
        name = item.source.name
        if found == declared[::-1]:
            logger.warning(
                "%s is declared %s and looks like %s: its sides stand in the other order; write "
                "languages: [%s]",
                name, ", ".join(declared), ", ".join(declared[::-1]), ", ".join(declared[::-1]),
            )  # fmt: skip
            continue
        for side, (code, other) in enumerate(zip(declared, found, strict=True)):
            if other is None:
                continue
            if code in known_languages() and other != code:
                logger.warning(
                    "side %d of %s is declared %s and looks like %s: check the languages of the "
                    "source",
                    side + 1, name, code, other,
                )  # fmt: skip
            else:
                seen[code] = other
    for language in sorted(set(seen.values())):
        codes = sorted(code for code, other in seen.items() if other == language)
        if len(codes) > 1:
            logger.warning(
                "%s look like one language, %s, and are treated as several: if they are one, give "
                "it one code",
                " and ".join(codes),
                language,
            )


def _language(item: SourcePairs, side: int, seed: int) -> str | None:
    """The language of a side of a source; None if it cannot be told."""
    random = np.random.default_rng([seed, side])
    chosen = random.permutation(len(item.pairs))[:SAMPLED].tolist()
    return clear_language([item.pairs[number][side] for number in chosen])
