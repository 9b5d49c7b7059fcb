"""Result of an analysis: tables, notes and a plot, written as TSV, Markdown, JSON and PNG."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paraphrastic_hf.io.files import write_bytes, write_json
from paraphrastic_hf.io.markdown import literal, markdown_table
from paraphrastic_hf.io.plots import png

Cell = str | float | None


@dataclass(frozen=True)
class Table:
    """A table of an analysis.

    Attributes:
        name: Part of the name of the TSV file, such as `tags`.
        title: Content of the table, with the unit of its values.
        rows: One cell per column. None is an empty cell.
        on_page: Whether the Markdown page shows the table.
    """

    name: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]
    on_page: bool = True


@dataclass(frozen=True)
class Analysis:
    """The result of one analysis.

    Attributes:
        kind: Name of the analysis, with which its file names begin.
        notes: Scope and method, shown below the tables.
    """

    kind: str
    title: str
    tables: list[Table]
    figure: Figure
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def write_analysis(analysis: Analysis, directory: str | Path) -> list[Path]:
    """Write KIND.md, KIND.json, KIND.png, and a TSV file for each table. Return their paths.

    A single table is KIND.tsv, several tables are KIND-TABLE.tsv. TSV values are not rounded.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    kind = analysis.kind
    files = {
        f"{kind}.md": analysis_markdown(analysis, plot=f"{kind}.png").encode("utf-8"),
        f"{kind}.png": png(analysis.figure, analysis.title),
    }
    for table in analysis.tables:
        name = kind if len(analysis.tables) == 1 else f"{kind}-{table.name}"
        plain = ([_plain(cell) for cell in row] for row in table.rows)
        rows = ([re.sub(r"\s", " ", "" if c is None else str(c)) for c in row] for row in plain)
        lines = [table.columns, *rows]
        files[f"{name}.tsv"] = "".join("\t".join(line) + "\n" for line in lines).encode("utf-8")
    for name, content in files.items():
        write_bytes(directory / name, content)
    tables = {
        table.name: [table.columns, *([_plain(cell) for cell in row] for row in table.rows)]
        for table in analysis.tables
    }
    record: dict[str, Any] = {"kind": kind, "title": analysis.title}
    record |= {"settings": analysis.settings, "notes": analysis.notes, "tables": tables}
    write_json(directory / f"{kind}.json", record)
    return [directory / name for name in (*files, f"{kind}.json")]


def analysis_markdown(analysis: Analysis, plot: str | None = None) -> str:
    """Return the tables and notes as Markdown, with the image `plot` if given."""
    lines = [f"# {literal(analysis.title)}", ""]
    for table in (table for table in analysis.tables if table.on_page):
        lines += [f"## {literal(table.title)}", "", *table_markdown(table), ""]
    lines += [f"![{literal(analysis.title)}]({plot})", ""] if plot else []
    lines += [f"* {literal(note)}" for note in analysis.notes]
    return "\n".join(lines).rstrip() + "\n"


def table_markdown(table: Table) -> list[str]:
    """Return the lines of a Markdown table, with columns of numbers aligned right."""
    columns = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    align = "".join("l" if any(isinstance(c, str) for c in cells) else "r" for cells in columns)
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    return markdown_table(table.columns, rows, align)


def cell_text(cell: Cell) -> str:
    """Format a cell for the page: fractions with four digits, whole numbers with all digits.

    Example:
        >>> [cell_text(cell) for cell in (0.123456, 12345, 71.849, None, "a|b")]
        ['0.1235', '12,345', '71.85', '', 'a|b']
    """
    cell = _plain(cell)
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.4g}"


def _plain(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and math.isnan(cell) else cell
