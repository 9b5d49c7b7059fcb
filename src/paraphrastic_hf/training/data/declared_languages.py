"""Check that bitext is in the languages that a recipe declares."""

import importlib.util
import logging
from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.text.language_id import clear_language, known_languages
from paraphrastic_hf.training.data.sources import SourcePairs

logger = logging.getLogger(__name__)

SAMPLED = 200  # pairs to check per source


def warn_of_languages(sources: Sequence[SourcePairs], seed: int) -> None:
    """Warn of swapped sides, wrong languages, and languages with several codes.

    Without py3langid, log that nothing was checked.
    """
    if importlib.util.find_spec("py3langid") is None:
        logger.info(
            "The declared languages were not checked. To check them: pip install "
            "'paraphrastic-hf[identify]'"
        )
        return
    codes: dict[str, set[str]] = {}  # declared codes by detected language
    for item in sources:
        declared = list(item.source.languages or ())
        found = [_language(item, side, seed) for side in range(len(declared))]
        name = item.source.name
        if found == declared[::-1] != declared:
            logger.warning(
                "%s is declared %s, but its sides look swapped. Set languages: [%s]",
                name, ", ".join(declared), ", ".join(declared[::-1]),
            )  # fmt: skip
            continue
        for side, (code, other) in enumerate(zip(declared, found, strict=True), 1):
            if other is not None and code in known_languages() and other != code:
                logger.warning(
                    "Side %d of %s is declared %s but looks like %s. Check the key `languages` "
                    "of this source.",
                    side, name, code, other,
                )  # fmt: skip
            elif other is not None:
                codes.setdefault(other, set()).add(code)
    for language, several in sorted(codes.items()):
        if len(several) > 1:
            logger.warning(
                "Languages %s all look like %s. If they are one language, use one code for it.",
                " and ".join(sorted(several)),
                language,
            )


def _language(item: SourcePairs, side: int, seed: int) -> str | None:
    """Return the detected language of one side of a source, or None if it is unclear."""
    random = np.random.default_rng([seed, side])
    chosen = random.permutation(len(item.pairs))[:SAMPLED].tolist()
    return clear_language([item.pairs[number][side] for number in chosen])
