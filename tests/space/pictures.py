"""Draws the pictures of docs/guides/space.md and browser.md: `python -m tests.space.pictures`."""

import contextlib
from urllib.parse import urlencode

from tests.space.browser import ROOT, app, chromium
from tests.space.test_browser import answer
from tests.web.test_browser import open_page, put, served, until

DOCS = ROOT / "docs"
WIDE = {
    "tab": "similarity",
    "a": "The doctor examined the child.",
    "b": "The physician looked at the boy.",
    "model": "english",
}
NARROW = {"tab": "similarity", "a": "a cat sleeps", "b": "un chat dort", "model": "multilingual"}


def draw_space():
    with app() as address:
        for name, link, size in (("similarity", WIDE, (900, 1000)), ("phone", NARROW, (375, 800))):
            with chromium(*size) as browser:
                browser.get(f"{address}?{urlencode(link)}")
                answer(browser, link["tab"], "cosine")
                browser.save_screenshot(str(DOCS / f"space-{name}.png"))


def draw_page():
    with contextlib.contextmanager(served)(ROOT) as address:
        for name, size, theme in (
            ("compare", (1280, 900), "light"),
            ("search", (1280, 900), "light"),
            ("phone", (390, 1150), "dark"),
        ):
            with chromium(*size) as driver:
                part = "search" if name == "search" else "compare"
                open_page(driver, f"{address}web/index.html#{part}")
                driver.execute_script(f"document.documentElement.dataset.theme = '{theme}'")
                if part == "search":
                    driver.find_element("id", "sample").click()
                    until(driver, "indexed", "lines")
                    put(driver, "query", "an animal is resting")
                    until(driver, "results", "asleep")
                driver.save_screenshot(str(DOCS / f"browser-{name}.png"))


if __name__ == "__main__":
    draw_space()
    draw_page()
