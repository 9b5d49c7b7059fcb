"""docs/tables.md lists every table and figure of the papers, recipes/encoders every encoder recipe,
and all their commands are valid."""

import csv
import fnmatch
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
import yaml

from paraphrastic_hf.config.packaged_recipes import find_recipe, recipe_names
from tests.docs.test_commands import check

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
def test_every_table_and_figure_has_one_line(paper):
    tables, figures = COUNTS[paper]
    wanted = [f"Table {i + 1}" for i in range(tables)]
    wanted += [f"Figure {i + 1}" for i in range(figures)]
    names = [line[1] for line in LINES if line[0].startswith(paper)]
    assert Counter(names) == Counter(wanted)


def test_every_line_is_complete():
    for line in LINES:
        assert all(line), line
        assert STATES.match(line[5]), line
        if line[5].startswith(("holds", "does not hold")):
            assert line[3] != "-", f"{line[1]}: a finding without a page that shows it"


def test_every_command_is_valid_and_its_files_exist(monkeypatch):
    monkeypatch.chdir(ROOT)
    for line in LINES:
        words = shlex.split(line[4].strip("`"))
        assert all(Path(word).is_file() for word in words if word.endswith((".yaml", ".py"))), line
        if words[0] == "paraphrastic":
            check(words[1:])


def test_every_encoder_recipe_has_a_row_or_a_reason():
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
