"""What every parser gives: a tree of a line, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from paraphrastic_hf.syntax.parse_tree import ROOT, Tree

EMPTY, TOO_LONG, FAILED = "empty", "too long", "not parsed"


@dataclass(frozen=True)
class ParsedLine:
    """A line of text and its tree.

    Attributes:
        words: The words that the parser made of it.
        tree: The tree, with `ROOT` on top; a `ROOT` with nothing below it where there is no tree.
        problem: Why there is no tree: `empty`, `too long`, `not parsed`; empty where there is one.
    """

    words: list[str]
    tree: Tree
    problem: str = ""

    @classmethod
    def without_tree(cls, words: Sequence[str], problem: str) -> ParsedLine:
        """A line that could not be parsed."""
        return cls(list(words), Tree(ROOT), problem)


@runtime_checkable
class LineParser(Protocol):
    """A parser of this package, or one of other people behind the same call."""

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """The tree of every line, in order. What cannot be parsed is marked, and no error."""
