"""Interface of translation engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.generation.writing import GeneratedText


class EngineError(ParaphrasticError, RuntimeError):
    """A translation engine failed, hangs, or returned a wrong number of lines."""


class MissingEngineError(EngineError):
    """A program or its language data is not installed."""


class Engine(Protocol):
    """Translator of lines of text."""

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        """Translate lines.

        An empty line gets an empty translation, and a line that is too long for the model is cut.

        Args:
            lines: Lines of any length. May be blank.
            before: Number of lines translated before, so that random numbers are not repeated.

        Returns:
            Translations of each line, best first unless sampled. Each is a text with the mean
            log-probability of its tokens (thesis, 4.3), NaN if the engine has no scores.
        """
