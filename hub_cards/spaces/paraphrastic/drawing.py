"""Answers as HTML: tokens as colored chips, and tables that scroll on narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

SPACE_MARK = "▁"  # with which sentencepiece begins a word
MOST_CELLS = 1600  # of a table of pairs; a larger one is left out
WITH, AGAINST = "38, 139, 210", "220, 110, 20"  # blue adds to the cosine, orange takes from it

CSS = """
.tokens {display: flex; flex-wrap: wrap; gap: 4px 8px; margin: 4px 0 12px}
.word {display: inline-flex}
.chip {padding: 2px 5px; text-align: center; line-height: 1.25; overflow-wrap: anywhere}
.chip small {display: block; font-size: 11px; opacity: .75}
.scroll {overflow-x: auto; max-width: 100%}
.scroll table {border-collapse: collapse; font-size: 14px}
.scroll th, .scroll td {padding: 3px 8px; text-align: left; vertical-align: top}
.scroll .number {text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap}
.headline {font-size: 22px; margin: 4px 0}
.bar {height: 10px; max-width: 480px; border-radius: 5px; background: rgba(128, 128, 128, .25)}
.bar div {height: 100%; border-radius: 5px; background: rgb(38, 139, 210)}
.error {padding: 10px 14px; border: 2px solid rgb(200, 60, 40); border-radius: 6px}
.note {font-size: 13px; opacity: .8; overflow-wrap: anywhere}
footer {display: none !important}
"""


def tokens(names: Sequence[str], shares: np.ndarray, largest: float) -> str:
    """Draw tokens in order, with their contributions in hundredths and a color by size.

    Args:
        names: The tokens; pieces of a word are drawn together.
        shares: Contributions, (tokens,).
        largest: Absolute contribution with the deepest color.
    """
    words: list[list[str]] = []
    for name, share in zip(names, shares.tolist(), strict=True):
        if not words or name.startswith(SPACE_MARK) or SPACE_MARK not in "".join(names):
            words.append([])
        text = escape(name.removeprefix(SPACE_MARK) or SPACE_MARK)
        words[-1].append(
            f'<span class="chip" style="{shade(share, largest)}">{text}'
            f"<small>{hundredths(share)}</small></span>"
        )
    inner = "".join(f'<span class="word">{"".join(word)}</span>' for word in words)
    return f'<div class="tokens">{inner}</div>'


def pairs(first: Sequence[str], second: Sequence[str], shares: np.ndarray) -> str:
    """Draw a folded table of the contributions of all pairs of tokens, or nothing if too large.

    Args:
        first: Tokens of the rows.
        second: Tokens of the columns.
        shares: Contributions, (rows, columns).
    """
    if not 0 < shares.size <= MOST_CELLS:
        return ""
    largest = float(np.abs(shares).max())
    head = "".join(f'<th class="number">{escape(name)}</th>' for name in second)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f'<td class="number" style="{shade(share, largest)}">{hundredths(share)}</td>'
            for share in row
        )
        + "</tr>"
        for name, row in zip(first, shares.tolist(), strict=True)
    )
    table = f'<div class="scroll"><table><tr><th></th>{head}</tr>{rows}</table></div>'
    return f"<details><summary>every pair of tokens</summary>{table}</details>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Draw a table with numbers aligned to the right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def note(text: str, link: str = "", name: str = "") -> str:
    """Draw a remark below an answer, which may end with a link."""
    more = f' <a href="{escape(link)}" target="_self">{escape(name)}</a>' if link else ""
    return f'<p class="note">{escape(text)}{more}</p>'


def error(text: str) -> str:
    """Draw an error in a box."""
    return f'<p class="error" role="alert">{escape(text)}</p>'


def cosine(value: float) -> str:
    """Draw a cosine with a word for it and a bar from 0 to 1."""
    words = ((0.8, "nearly the same"), (0.5, "similar"), (0.2, "loosely related"))
    word = next((word for least, word in words if value >= least), "unrelated")
    width = 100 * min(1.0, max(0.0, value))
    return (
        headline(f"cosine {value:.3f}: {word}")
        + f'<div class="bar"><div style="width: {width:.0f}%"></div></div>'
    )


def headline(text: str) -> str:
    """Draw the answer in one line."""
    return f'<p class="headline">{escape(text)}</p>'


def hundredths(share: float) -> str:
    """Format a contribution times 100, with its sign.

    Example:
        >>> hundredths(0.123), hundredths(-0.0004), hundredths(-0.25)
        ('12.3', '0.0', '−25.0')
    """
    text = f"{abs(100 * share):.1f}"
    return f"−{text}" if share < 0 and float(text) else text


def shade(share: float, largest: float) -> str:
    """Return the style of a contribution: a color by sign and size."""
    depth = min(1.0, abs(share) / largest) if largest > 0 else 0.0
    return f"background: rgba({WITH if share >= 0 else AGAINST}, {0.75 * depth:.2f})"


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        text = f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
        return f'<td class="number">{text}</td>'
    return f"<td>{escape(str(value))}</td>"
