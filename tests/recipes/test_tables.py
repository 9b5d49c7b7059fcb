"""docs/tables.md has a line for every table and figure of the papers, recipes/encoders one for each
recipe of an encoder, and neither names what is not there."""

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
COUNTS = {  # tables and figures of each section; those of the thesis are one list
    "Thesis": (72, 13),
    "Revisiting": (11, 0),
    "Simple": (5, 1),
    "A bilingual": (7, 5),
}
NO_PAPER = {"default", "demo", "language-model"}  # folders of recipes that no paper has
Line = tuple[str, str, str, str, str, str]


def lines() -> list[Line]:
    """The cells of each line, after the section it is in."""
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
def test_each_table_and_figure_of_a_paper_has_one_line(paper: str) -> None:
    tables, figures = COUNTS[paper]
    wanted = [f"Table {i + 1}" for i in range(tables)]
    wanted += [f"Figure {i + 1}" for i in range(figures)]
    names = [line[1] for line in LINES if line[0].startswith(paper)]
    assert Counter(names) == Counter(wanted)


def test_each_line_has_its_fields_and_one_of_the_states() -> None:
    for line in LINES:
        assert all(line), line
        assert STATES.match(line[5]), line
        if line[5].startswith(("holds", "does not hold")):
            assert line[3] != "-", f"{line[1]}: a finding without a page that shows it"


def test_each_link_leads_to_a_heading_that_is_there() -> None:
    for target in {link for line in LINES for link in re.findall(r"\]\(([^)]+)\)", line[3])}:
        path, _, anchor = target.partition("#")
        page = (PAGE.parent / path).resolve() if path else PAGE
        assert page.is_file(), target
        assert not anchor or anchor in anchors(page), target


def test_each_command_names_a_command_and_a_recipe_or_script_that_is_there() -> None:
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


def test_each_recipe_of_an_encoder_has_a_row_or_a_reason_why_it_has_none() -> None:
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
    """Whether a recipe is of a paper's encoder, or of what is trained on one; others say so."""
    kind = yaml.safe_load(find_recipe(name).read_text(encoding="utf-8")).get("kind")
    return name.split("/")[0] not in NO_PAPER and kind in (None, "contrastive", "supervised")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}
