import argparse
import re
import shlex
from pathlib import Path

import pytest

from paraphrastic_hf import load_recipe
from paraphrastic_hf.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "recipes", "hub_cards", "src")
PAGES = [*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.md"))]
PLACEHOLDERS = ("$", "...", "more.yaml", "mgt.yaml", "student.yaml", "tuned/best.yaml")


def printed(text):
    """Yield the words of each complete `paraphrastic` command in a text, up to a pipe or
    redirection."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if any(mark in line for mark in PLACEHOLDERS):
            continue
        for part in re.split(r"\||;|&&|> ", line.split("  #")[0]):
            if re.match(r"\s*(\$ )?paraphrastic [a-z]", part):
                yield shlex.split(part, comments=True)[1:]


def blocks_of(page):
    """Return the code of a page: lines in fences, or indented by four."""
    text = page.read_text()
    fenced = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join([*fenced, *re.findall(r"^    .*", text, re.MULTILINE)])


def check(words):
    """Parse a command, and load the recipe that it trains."""
    parser = build_parser([words[0]])
    try:
        known, rest = parser.parse_known_args(words)
    except SystemExit as stop:
        if stop.code:
            raise
        return  # such as --keys, which prints and exits
    if not getattr(known, "takes_overrides", False):
        assert not rest, f"{' '.join(words)}: there is no {rest}"
    elif words[0] == "train":
        load_recipe(known.recipe, rest)


def helps(parser):
    """Yield the help of a command and of its subcommands."""
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from helps(inner)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_are_valid(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    for words in printed(blocks_of(page)):
        check(words)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_a_help_text_are_valid(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    for text in helps(build_parser([command])):
        for words in printed(text):
            check(words)
