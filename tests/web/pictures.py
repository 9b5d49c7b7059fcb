"""Draws the pictures of docs/guides/browser.md: `python -m tests.web.pictures`."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.space.browser import chromium
from tests.web.test_browser import ROOT, open_page, put, served, until

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    serving = contextlib.contextmanager(served)
    with serving(ROOT) as address:
        for name, size, theme in (
            ("compare", (1280, 900), "light"),
            ("search", (1280, 900), "light"),
            ("phone", (390, 1150), "dark"),
        ):
            with chromium(*size) as driver:
                part = "search" if name == "search" else "compare"
                open_page(driver, f"{address}web/index.html#{part}")
                driver.execute_script(
                    "document.documentElement.dataset.theme = arguments[0]", theme
                )
                if part == "search":
                    driver.find_element("id", "sample").click()
                    until(driver, "indexed", "lines")
                    put(driver, "query", "an animal is resting")
                    until(driver, "results", "asleep")
                driver.save_screenshot(str(DOCS / f"browser-{name}.png"))


if __name__ == "__main__":
    main()
