from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "report.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    assert runpy.run_path(str(DOCS / "site" / "report.py"))["filled"](PAGE) == PAGE


def test_every_table_has_at_most_seven_columns() -> None:
    assert max(line.count(" | ") + 1 for line in PAGE.splitlines() if line.startswith("| ")) <= 7


def test_the_highest_figure_of_each_column_is_bold() -> None:
    tables = [part for part in PAGE.split("\n\n") if part.startswith("| system |")]
    for table in tables[1:]:  # the first describes the systems
        rows = [line[2:-2].split(" | ") for line in table.splitlines()[2:]]
        for column in zip(*(row[1:] for row in rows), strict=True):
            figures = [float(cell.strip(" *").replace(",", "") or "-inf") for cell in column]
            bold = {figure for figure, cell in zip(figures, column, strict=True) if "**" in cell}
            assert bold in ({max(figures)}, set())
    assert len(tables) > 20
