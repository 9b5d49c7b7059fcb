"""Draws the pictures of docs/guides/space.md: `python -m tests.space.pictures`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from tests.space.browser import app, chromium
from tests.space.test_browser import answer

DOCS = Path(__file__).parents[2] / "docs"
WIDE = {
    "tab": "similarity",
    "a": "The doctor examined the child.",
    "b": "The physician looked at the boy.",
    "model": "english",
}
NARROW = {"tab": "similarity", "a": "a cat sleeps", "b": "un chat dort", "model": "multilingual"}


def main() -> None:
    pictures = (("similarity", WIDE, (900, 1000)), ("phone", NARROW, (375, 800)))
    with app() as address:
        for name, link, size in pictures:
            with chromium(*size) as browser:
                browser.get(f"{address}?{urlencode(link)}")
                answer(browser, link["tab"], "cosine")
                browser.save_screenshot(str(DOCS / f"space-{name}.png"))


if __name__ == "__main__":
    main()
