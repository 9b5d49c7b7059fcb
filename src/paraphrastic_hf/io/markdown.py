"""Tables and escaping in Markdown, as GitHub and the Hub render them, and plain tables."""

import re
from collections.abc import Iterable, Sequence

RULES = {"l": "---", "r": "---:"}


class Markdown(str):
    """String that is already Markdown and needs no escaping."""


def markdown_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], align: str | None = None
) -> list[str]:
    """Return the lines of a table. `align` has `l` or `r` for each column (default: l, then r).

    Cells are escaped by `literal` unless they are `Markdown`. In all cells, vertical bars are
    escaped and white space is collapsed.
    """
    align = ("l" + "r" * len(columns))[: len(columns)] if align is None else align
    lines = [_line(columns), f"|{'|'.join(RULES[letter] for letter in align)}|"]
    for row in rows:
        lines.append(_line(row))
    return lines


def plain_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for a terminal, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = (map(str.ljust, row, widths) for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


def literal(text: str) -> Markdown:
    """Escape text so that Markdown shows it literally. Collapse white space."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split()))
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    text = re.sub(r"[\\|*`~$\[\]]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    # headings, quotations and lists, in case the text starts a line
    text = re.sub(r"^(\d*)([#>]|[-+=](?=[\s=-]|$)|(?<=\d)[.)](?=\s|$))", r"\1\\\2", text)
    return Markdown(text)


def code(text: str) -> Markdown:
    """Format text as inline code. Collapse white space."""
    text = " ".join(text.split())
    fence = "`" * (1 + _backticks(text))
    space = " " if "`" in text else ""
    return Markdown(f"{fence}{space}{text}{space}{fence}")


def code_block(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + _backticks(text))
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def _backticks(text: str) -> int:  # length of the longest run
    return max(map(len, re.findall("`+", text)), default=0)


def bold(text: str) -> Markdown:
    return Markdown(f"**{literal(text)}**")


def _line(cells: Sequence[str]) -> str:
    marked = (cell if isinstance(cell, Markdown) else literal(cell) for cell in cells)
    # A bar is escaped already after an odd number of backslashes.
    bare = (re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", " ".join(cell.split())) for cell in marked)
    return f"| {' | '.join(bare)} |"
