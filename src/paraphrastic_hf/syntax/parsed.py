"""Result type and interface of parsers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from paraphrastic_hf.syntax.parse_tree import ROOT, Tree

EMPTY, TOO_LONG, FAILED = "empty", "too long", "not parsed"


@dataclass(frozen=True)
class ParsedLine:
    """A parsed line: its words and tree, or a bare `ROOT` and the `problem` if parsing failed."""

    words: list[str]
    tree: Tree
    problem: str = ""

    @classmethod
    def without_tree(cls, words: Sequence[str], problem: str) -> ParsedLine:
        return cls(list(words), Tree(ROOT), problem)


@runtime_checkable
class LineParser(Protocol):
    """Interface of this package's parser and of adapters for other parsers."""

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        """Parse every line, in order. Lines that cannot be parsed get a `problem`."""
