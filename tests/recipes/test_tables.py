"""docs/tables.md lists every table and figure of the papers, recipes/encoders every encoder recipe,
and all their links and commands exist."""

from __future__ import annotations

import csv
import fnmatch
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import yaml

from paraphrastic_hf.cli.main import COMMANDS
from paraphrastic_hf.config.packaged_recipes import find_recipe, recipe_names
from paraphrastic_hf.corpora.load import find_source

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tables.md"
STATES = re.compile(
    r"(holds|holds in part|does not hold|not yet|cannot be done here|nothing to measure)\b[:;]? ?"
)
COUNTS = {  # (tables, figures) of each section
    "Thesis": (72, 13),
    "Revisiting": (11, 0),
    "Simple": (5, 1),
    "A bilingual": (7, 5),
}
NO_PAPER = {"default", "demo", "language-model"}  # folders of recipes without a paper
Line = tuple[str, str, str, str, str, str]


def lines() -> list[Line]:
    """Return the cells of each line, after the name of its section."""
    found, section = [], ""
    for text in PAGE.read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            section = text[3:]
        elif text.startswith("|") and not text.startswith(("|---", "| table |")):
            cells = [cell.strip() for cell in text.strip("|").split(" | ")]
            assert len(cells) == 5, text
            found.append((section, *cells))
    return found  # type: ignore[return-value]


LINES = lines()


@pytest.mark.parametrize("paper", COUNTS)
def test_every_table_and_figure_has_one_line(paper: str) -> None:
    tables, figures = COUNTS[paper]
    wanted = [f"Table {i + 1}" for i in range(tables)]
    wanted += [f"Figure {i + 1}" for i in range(figures)]
    names = [line[1] for line in LINES if line[0].startswith(paper)]
    assert Counter(names) == Counter(wanted)


def test_every_line_is_complete() -> None:
    for line in LINES:
        assert all(line), line
        assert STATES.match(line[5]), line
        if line[5].startswith(("holds", "does not hold")):
            assert line[3] != "-", f"{line[1]}: a finding without a page that shows it"


def test_every_link_leads_to_a_heading() -> None:
    for target in {link for line in LINES for link in re.findall(r"\]\(([^)]+)\)", line[3])}:
        path, _, anchor = target.partition("#")
        page = (PAGE.parent / path).resolve() if path else PAGE
        assert page.is_file(), target
        assert not anchor or anchor in anchors(page), target


def test_every_command_and_its_files_exist() -> None:
    for line in LINES:
        if line[4] == "-":
            continue
        words = shlex.split(line[4].strip("`"))
        if words[0] == "python":
            assert (ROOT / words[1]).is_file(), line
        else:
            assert words[0] == "paraphrastic"
            assert words[1] in COMMANDS, line
        for word in words[1:]:
            assert not word.endswith((".yaml", ".py")) or (ROOT / word).is_file(), line
        if words[1:3] == ["data", "info"]:
            assert find_source(words[3]), line
        if words[1] == "train":
            assert find_recipe(words[2]).is_file(), line


def test_every_encoder_recipe_has_a_row_or_a_reason() -> None:
    folder = ROOT / "recipes" / "encoders"
    with (folder / "rows.tsv").open(encoding="utf-8", newline="") as file:
        rows = {row["recipe"] for row in csv.DictReader(file, delimiter="\t")}
    text = (folder / "README.md").read_text(encoding="utf-8")
    table, _, reasons = text.partition("## Recipes without a row")
    patterns = [
        pattern
        for line in reasons.splitlines()
        if line.startswith("| `")
        for pattern in re.findall(r"`([\w*-]+/[\w*-]+)`", line.split(" | ")[0])
    ]
    recipes = {name for name in recipe_names() if is_of_an_encoder(name)}
    assert rows <= recipes
    for row in rows:
        assert f"`{row}`" in table
    without = recipes - rows
    for pattern in patterns:
        assert fnmatch.filter(without, pattern), f"{pattern} is no recipe without a row"
    left = {name for name in without if not any(fnmatch.fnmatch(name, p) for p in patterns)}
    assert not left


def is_of_an_encoder(name: str) -> bool:
    kind = yaml.safe_load(find_recipe(name).read_text(encoding="utf-8")).get("kind")
    return name.split("/")[0] not in NO_PAPER and kind in (None, "contrastive", "supervised")


def anchors(page: Path) -> set[str]:
    """Return GitHub's anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}
