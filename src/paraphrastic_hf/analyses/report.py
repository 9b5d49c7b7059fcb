"""Result of an analysis: tables, notes and a plot, written as TSV, Markdown, JSON and PNG."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paraphrastic_hf.io.files import write_bytes, write_json
from paraphrastic_hf.io.markdown import literal, markdown_table
from paraphrastic_hf.io.plots import COLORS, bars, lines, new_figure, png

Cell = str | float | None


@dataclass(frozen=True)
class Table:
    """A table of an analysis, with its unit in the title. None is an empty cell.

    `name`, such as `tags`, is part of the name of the TSV file. The Markdown page leaves out tables
    that are not `on_page`.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    on_page: bool = True


@dataclass(frozen=True)
class Analysis:
    """The result of one analysis. Its file names begin with `kind`."""

    kind: str
    title: str
    tables: list[Table]
    figure: Figure
    notes: list[str] = field(default_factory=list)  # scope and method, shown below the tables
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
    tables = {}
    for table in analysis.tables:
        name = kind if len(analysis.tables) == 1 else f"{kind}-{table.name}"
        tables[table.name] = [
            [_plain(cell) for cell in row] for row in (table.columns, *table.rows)
        ]
        rows = (
            "\t".join(re.sub(r"\s", " ", "" if cell is None else str(cell)) for cell in row) + "\n"
            for row in tables[table.name]
        )
        files[f"{name}.tsv"] = "".join(rows).encode("utf-8")
    for name, content in files.items():
        write_bytes(directory / name, content)
    record: dict[str, Any] = {"kind": kind, "title": analysis.title}
    record |= {"settings": analysis.settings, "notes": analysis.notes, "tables": tables}
    write_json(directory / f"{kind}.json", record)
    return [directory / name for name in (*files, f"{kind}.json")]


def analysis_markdown(analysis: Analysis, plot: str | None = None) -> str:
    """Return the tables and notes as Markdown, with the image `plot` if given."""
    text = [f"# {literal(analysis.title)}", ""]
    for table in (table for table in analysis.tables if table.on_page):
        text += [f"## {literal(table.title)}", "", *table_markdown(table), ""]
    text += [f"![{literal(analysis.title)}]({plot})", ""] if plot else []
    text += [f"* {literal(note)}" for note in analysis.notes]
    return "\n".join(text).rstrip() + "\n"


def table_markdown(table: Table) -> list[str]:
    """Return the lines of a Markdown table, with columns of numbers aligned right."""
    columns = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    align = "".join("l" if any(isinstance(c, str) for c in cells) else "r" for cells in columns)
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    return markdown_table(table.columns, rows, align)


def cell_text(cell: Cell) -> str:
    """Format a cell for the page: fractions with four digits, whole numbers with all digits."""
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


def curves_figure(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *labels: str,
    size: tuple[float, float] = (6.5, 4),
    ticks: Sequence[str] = (),
    **options: Any,
) -> Figure:
    """Plot curves in one panel. Labels and options are passed to `io.plots.lines`.

    `ticks` are labels of the x values 0, 1, 2 and so on.
    """
    figure = new_figure(*size)
    axes = figure.add_subplot()
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks)
    lines(axes, curves, *labels, **options)
    return figure


def scatter(
    axes: Axes, points: Mapping[str, tuple[float, float]], colors: Sequence[str] = COLORS[:1]
) -> None:
    """Draw named points. NaN is left out, and `colors` repeat."""
    for (name, (x, y)), color in zip(points.items(), cycle(colors), strict=False):
        if not math.isnan(x):
            axes.scatter(x, y, s=15, color=color)
            axes.annotate(name, (x, y), (3, 2), textcoords="offset points", fontsize=6, color=color)


def bars_figure(
    values: Mapping[str, float], label: str, *, size: tuple[float, float], **options: Any
) -> Figure:
    """Plot horizontal bars in one panel, with options of `io.plots.bars`."""
    figure = new_figure(*size)
    bars(figure.add_subplot(), list(values), list(values.values()), label, **options)
    return figure
