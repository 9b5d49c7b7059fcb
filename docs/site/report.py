"""Fills the tables of docs/report.md from docs/results.tsv: `python docs/site/report.py`."""

from __future__ import annotations

import re
from pathlib import Path

from paraphrastic_hf.evaluation.page import read_figures
from paraphrastic_hf.io.files import write_bytes

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "report.md"
TABLES = re.compile(r"(?:^\|.*\n\n?)+", re.MULTILINE)  # and the empty lines between them


def filled(page: str) -> str:
    """Return the page with the tables below each suite's heading made anew."""
    first, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    suites = read_figures(DOCS / "results.tsv")
    parts = [first]
    for section in sections:
        before, after = TABLES.split(section, maxsplit=1)
        tables = suites[section.partition("\n")[0]].tables()
        parts.append(f"{before}{chr(10).join(tables)}\n\n{after}")
    return "## ".join(parts)


if __name__ == "__main__":
    write_bytes(PAGE, filled(PAGE.read_text(encoding="utf-8")).encode("utf-8"))
