"""Quality estimation: SIM between translations and their sources, without references.

The packaged model `multilingual` embeds both sides. It is better at some languages than at others,
so SIM is scaled by the language (`LANGUAGES`, measured by benchmarks/quality.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.scorer import (
    SimileScorer,
    SimileScores,
    checked_segments,
    join_settings,
)
from paraphrastic_hf.metrics.semantic import ALPHA, length_penalty, simile
from paraphrastic_hf.text.language_id import SHORTEST, doubts, main_language

MODEL = "multilingual"
ENGLISH = "en"
UNRELATED = 0.1  # SIM by windows of unrelated sentences, in any language
EMPTY, UNTRANSLATED, WRONG, TRUNCATED = "empty", "untranslated", "wrong language", "truncated"
PROBLEMS = (EMPTY, UNTRANSLATED, WRONG, TRUNCATED)
SURE = 1.5  # doubt above which a text is in another language
SHORT = 2.7  # standard deviations below the expected length that look truncated
LOST_END = 2.0  # standard deviations that a missing punctuation mark at the end counts for
ENDS = frozenset(".!?…。！？؟;:；：।\"'”’»)]）」』")
IDENTIFIED = 500  # texts from which the languages are identified


class Language(NamedTuple):
    """Translations between a language and English: averages of 1,000 pairs of Tatoeba."""

    sim: float  # mean SIM by windows
    length: float  # mean logarithm of the English length over the other, in characters
    spread: float  # standard deviation of this logarithm


LANGUAGES = {
    "ar": Language(0.484, 0.18, 0.25),
    "cs": Language(0.347, 0.11, 0.22),
    "de": Language(0.675, -0.14, 0.17),
    "es": Language(0.715, -0.05, 0.19),
    "fr": Language(0.679, -0.15, 0.20),
    "it": Language(0.477, -0.06, 0.19),
    "ja": Language(0.395, 0.73, 0.27),
    "ko": Language(0.234, 0.63, 0.27),
    "nl": Language(0.381, -0.06, 0.19),
    "pl": Language(0.338, 0.03, 0.23),
    "pt": Language(0.528, -0.05, 0.18),
    "ru": Language(0.490, 0.03, 0.23),
    "tr": Language(0.562, 0.00, 0.21),
    "zh": Language(0.499, 1.08, 0.25),
}


@dataclass(frozen=True)
class QualityScores(SimileScores):
    """Scores of translations without references, for each segment and for the corpus.

    Attributes:
        simile: SIM of each segment, lowered if the segment has a problem, (segments,).
        sim: SIM of each segment, (segments,), scaled so that unrelated sentences score 0 and good
            translations score 1 on average. Single values can exceed 1.
        problems: Problem of each segment, one of `PROBLEMS` or an empty string.
    """

    problems: tuple[str, ...]

    def segments_with(self) -> dict[str, list[int]]:
        """Return the numbers of the segments with each problem, from 1."""
        return {
            problem: [i for i, found in enumerate(self.problems, 1) if found == problem]
            for problem in PROBLEMS
        }

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        return {**super().to_dict(segments=segments), "problems": self.segments_with()}


class QualityEstimator:
    """Scorer of translations against their sources, with the packaged model `multilingual`.

    One of the two languages must be English. SIM by windows is scaled for each language, so that
    unrelated sentences have SIM 0 and good translations SIM 1 on average. SimiLE is SIM, except for
    segments with a problem. It is 0 if a translation is empty, untranslated or in the wrong
    language. For a truncated one, SIM is multiplied by the length penalty of its expected length.

    Args:
        languages: Codes of the source and the target language, such as ("de", "en"). None
            identifies them from the texts.

    Raises:
        DataError: If the languages are not supported, or cannot be identified.
        MissingExtraError: If py3langid is not installed.

    Example:
        >>> sources = ["Guten Morgen.", "Die Katze schläft auf dem Sofa."]
        >>> outputs = ["Good morning.", "Die Katze schläft auf dem Sofa."]
        >>> scores = QualityEstimator(languages=("de", "en")).score(outputs, sources)
        >>> scores.problems
        ('', 'untranslated')
    """

    def __init__(self, languages: Sequence[str] | None = None) -> None:
        self.languages = None if languages is None else checked_languages(languages)
        self._scorer = SimileScorer(MODEL, similarity="windows", penalty="none")

    def score(
        self, hypotheses: Sequence[str], sources: Sequence[str], *, progress: bool = False
    ) -> QualityScores:
        """Score translations against their sources.

        Args:
            hypotheses: One translation for each segment.
            sources: One text for each segment.
            progress: Show a progress bar.

        Raises:
            DataError: If there are no segments, the numbers of sources and hypotheses differ, a
                text is not a string, or the languages cannot be identified.
        """
        hypotheses, lists = checked_segments(hypotheses, sources, name="sources")
        if any(len(each) > 1 for each in lists):
            raise DataError("sources must have one text per segment")
        texts = [each[0] for each in lists]
        languages = self.languages or identify(hypotheses, texts)
        found = self._scorer.score(hypotheses, texts, progress=progress).sim
        sim = (found - UNRELATED) / (_foreign(languages).sim - UNRELATED)
        ratios = length_ratios(hypotheses, texts, languages)
        problems = find_problems(hypotheses, texts, languages)
        penalty = np.array([0.0 if problem else 1.0 for problem in problems])
        is_short = np.array([problem == TRUNCATED for problem in problems])
        penalty[is_short] = length_penalty(np.exp(ratios[is_short]), np.ones(is_short.sum()))
        scores = np.where(penalty > 0, simile(sim, penalty, ALPHA), 0.0)
        return QualityScores(scores, sim, self._signature(languages), tuple(problems))

    def _signature(self, languages: tuple[str, str]) -> str:
        return join_settings(
            *(each for each in self._scorer.settings if each[0] != "penalty"),
            ("against", "source"),
            ("languages", "-".join(languages)),
            ("penalty", "problems"),
            ("alpha", repr(ALPHA)),
        )


def checked_languages(languages: Sequence[str]) -> tuple[str, str]:
    """Check the codes of the source and the target language."""
    known = ", ".join(LANGUAGES)
    if isinstance(languages, str) or len(languages) != 2:
        raise DataError(f"languages must be two codes, such as ('de', 'en'), got {languages!r}")
    source, target = languages
    other = target if source == ENGLISH else source
    if ENGLISH not in (source, target) or other not in LANGUAGES:
        raise DataError(f"languages must be en and one of {known}, got {source} and {target}")
    return source, target


def identify(hypotheses: Sequence[str], sources: Sequence[str]) -> tuple[str, str]:
    """Identify the source and the target language by the first 500 segments."""
    found = []
    for name, side in (("sources", sources), ("translations", hypotheses)):
        texts = [text for text in side[:IDENTIFIED] if _has_words(text)]
        if not texts:
            raise DataError(f"Cannot identify the language of the {name}: they contain no words")
        found.append(main_language(texts)[0])
    try:
        return checked_languages(found)
    except DataError as error:
        raise DataError(
            f"{error}. The languages were identified from the texts. If they are wrong, set them"
        ) from error


def length_ratios(
    hypotheses: Sequence[str], sources: Sequence[str], languages: tuple[str, str]
) -> np.ndarray:
    """Return the logarithm of each length, in characters, over the expected one, (segments,)."""
    expected = _foreign(languages).length * (1 if languages[1] == ENGLISH else -1)
    own, other = (np.array([len(text) + 1.0 for text in side]) for side in (hypotheses, sources))
    return np.asarray(np.log(own / other) - expected)


def find_problems(
    hypotheses: Sequence[str], sources: Sequence[str], languages: tuple[str, str]
) -> list[str]:
    """Return the problem of each translation, one of `PROBLEMS` or an empty string.

    * `empty`: the translation has no letters or digits, but its source has.
    * `untranslated`: the translation is in the source language.
    * `wrong language`: the translation, of 20 bytes or more, is in another language than the target
      language.
    * `truncated`: the translation is much shorter than expected. If it lacks the punctuation mark
      that ends the source, a smaller difference suffices.
    """
    spread = _foreign(languages).spread
    lengths = length_ratios(hypotheses, sources, languages) / spread
    guesses = doubts(hypotheses, languages[1])
    return [
        _problem(*values, languages[0])
        for values in zip(hypotheses, sources, lengths.tolist(), guesses, strict=True)
    ]


def _problem(
    hypothesis: str, source: str, length: float, guess: tuple[str, float], source_language: str
) -> str:
    if not _has_words(source):
        return ""
    if not _has_words(hypothesis):
        return EMPTY
    language, doubt = guess
    is_copy = hypothesis.split() == source.split()
    if language == source_language and doubt > (0 if is_copy else SURE):
        return UNTRANSLATED
    if doubt > SURE and len(hypothesis.encode()) >= SHORTEST:
        return UNTRANSLATED if is_copy else WRONG
    if _ends(source) and not _ends(hypothesis):
        length -= LOST_END
    return TRUNCATED if length < -SHORT else ""


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _ends(text: str) -> bool:
    return text.rstrip()[-1:] in ENDS


def _foreign(languages: tuple[str, str]) -> Language:
    return LANGUAGES[languages[0] if languages[1] == ENGLISH else languages[1]]
