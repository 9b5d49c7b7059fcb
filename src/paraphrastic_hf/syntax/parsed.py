"""Result of every parser: a tree of a line, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from paraphrastic_hf.syntax.parse_tree import ROOT, Tree

EMPTY, TOO_LONG, FAILED = "empty", "too long", "not parsed"


@dataclass(frozen=True)
class ParsedLine:
    """Line of text and its tree.

    Attributes:
        words: Words that the parser split it into.
        tree: Tree under `ROOT`. A bare `ROOT` if parsing failed.
        problem: `empty`, `too long`, `not parsed`, or "" if there is a tree.
    """

    words: list[str]
    tree: Tree
    problem: str = ""

    @classmethod
    def without_tree(cls, words: Sequence[str], problem: str) -> ParsedLine:
        return cls(list(words), Tree(ROOT), problem)


@runtime_checkable
class LineParser(Protocol):
    """Parser of this package or an adapter of another one."""

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """Return the tree of every line, in order. Lines that cannot be parsed get a `problem`."""
