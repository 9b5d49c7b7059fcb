"""Draws the pictures of docs/guides/space.md: `python -m tests.space.pictures`.

The pages that generate text are drawn if `--style` or `--syntax` gives a model.
"""

from __future__ import annotations

import argparse
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
STYLE = {
    "tab": "style",
    "source": "A man is playing a guitar.",
    "style": "Where is my sister?",
    "language": "en",
    "count": "3",
}
SYNTAX = {
    "tab": "syntax",
    "text": "the girl wrote a letter in the garden .",
    "templates": "(S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN)) (PP (IN) (NP (DT) (NN)))) (.))\n"
    "(S (PP (IN) (NP (DT) (NN))) (,) (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.))",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--style", default="", help="a generative model of sentence pairs")
    parser.add_argument("--syntax", default="", help="a paraphraser that reads whole parses")
    arguments = parser.parse_args()
    pictures = [
        ("similarity", WIDE, "cosine", (900, 1000)),
        ("phone", NARROW, "cosine", (375, 800)),
    ]
    if arguments.style:
        pictures.append(("style", STYLE, "written", (900, 1000)))
    if arguments.syntax:
        pictures.append(("syntax", SYNTAX, "written", (900, 1000)))
    with app(STYLE=arguments.style, SYNTAX=arguments.syntax) as address:
        for name, link, part, size in pictures:
            with chromium(*size) as browser:
                browser.get(f"{address}?{urlencode(link)}")
                answer(browser, link["tab"], part)
                browser.save_screenshot(str(DOCS / f"space-{name}.png"))


if __name__ == "__main__":
    main()
