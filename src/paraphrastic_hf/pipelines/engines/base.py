"""Interface of translation engines."""

from collections.abc import Sequence
from typing import Protocol

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.generation.writing import GeneratedText


class EngineError(ParaphrasticError, RuntimeError):
    """A translation engine failed, hung, or returned a wrong number of lines."""


class MissingEngineError(EngineError):
    """A translation program, or the data of a language, is not installed."""


class Engine(Protocol):
    """Translator of lines of text."""

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        """Return translations of each line, best first unless sampled, or empty for empty lines.

        A score is the mean log-probability of the tokens (thesis, 4.3), or NaN without scores.
        `before` counts the lines of earlier calls, so that random numbers do not repeat.
        """
