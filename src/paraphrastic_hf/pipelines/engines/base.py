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

        Lines that are too long for the model are cut. A score is the mean log-probability of the
        tokens (thesis, 4.3), or NaN if the engine gives no scores. `before` is the number of lines
        translated by earlier calls, so that sampling does not repeat random numbers.
        """
