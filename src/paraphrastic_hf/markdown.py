"""Tables in Markdown, as GitHub and the Hub show them; what stands in them is not decided here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

RULES = {"l": "---", "r": "---:"}


def markdown_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], align: str | None = None
) -> list[str]:
    """The lines of a table.

    A cell may hold Markdown, such as `**bold**`; text of other people goes through `literal` first.
    A bar inside a cell is escaped, and white space becomes one space, so that every row stays one
    line with as many cells as there are columns.

    Args:
        columns: The headers.
        rows: Cells, as many as headers in each row; empty text where there is nothing.
        align: A letter for each column, `l` for left and `r` for right; the first column left and
            all others right if None.

    Raises:
        ValueError: A row, or `align`, has more or fewer entries than there are columns.

    Example:
        >>> markdown_table(["system", "score"], [["a|b", "71.8"]])
        ['| system | score |', '|---|---:|', '| a\\\\|b | 71.8 |']
    """
    align = ("l" + "r" * len(columns))[: len(columns)] if align is None else align
    if len(align) != len(columns):
        raise ValueError(f"align must have a letter for each of {len(columns)} columns: {align!r}")
    lines = [_line(columns), f"|{'|'.join(RULES[letter] for letter in align)}|"]
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row must have {len(columns)} cells, got {list(row)}")
        lines.append(_line(row))
    return lines


def literal(text: str) -> str:
    """Text that Markdown shows as it is: its marks are escaped, and white space is one space.

    Example:
        >>> literal("5 * 3 | _x_")
        '5 \\\\* 3 \\\\| \\\\_x\\\\_'
    """
    return re.sub(r"([\\|*_`])", r"\\\1", " ".join(text.split()))


def _line(cells: Sequence[str]) -> str:
    # A bar is escaped already after an odd number of backslashes.
    bare = (re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", " ".join(cell.split())) for cell in cells)
    return f"| {' | '.join(bare)} |"
