import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "report.md").read_text()


def test_the_page_is_up_to_date():
    assert runpy.run_path(str(DOCS / "site" / "report.py"))["filled"](PAGE) == PAGE
