"""The contract of translation engines: lines in, for each its translations, best first.

A translation is a text and its length-normalized log-probability (thesis, 4.3), NaN where the
engine has none. Every engine gives an empty translation for a line without text, cuts a line that
is longer than its model reads, and gives back as many lists as it was given lines, or fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.generation.writing import GeneratedText


class EngineError(ParaphrasticError, RuntimeError):
    """An engine died, hangs, or does not answer a line with a line."""


class MissingEngineError(EngineError):
    """A program, or the languages asked of it, is not installed."""


class Engine(Protocol):
    """What translates lines of text."""

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        """Translate lines.

        Args:
            lines: The lines; one may be blank, or of thousands of words.

        Returns:
            For each line its translations, the best first unless drawn; each as its text and the
            mean over its tokens of ln of their probability, NaN where the engine has none.
        """
