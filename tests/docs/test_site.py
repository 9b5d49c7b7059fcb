import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import paraphrastic_hf
from paraphrastic_hf.cli.main import COMMANDS

pytest.importorskip("mkdocs", reason="mkdocs is in the extra docs")
pytest.importorskip("material", reason="mkdocs-material is in the extra docs")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is in the extra docs")

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"(https?:[^\"]*)\"")
SMALL = """
site_name: small
docs_dir: {root}/docs/site/static
theme: {{name: material, font: false}}
hooks: [{root}/docs/site/hooks.py]
nav: [README.md, {{Docs: docs/}}]
validation:
  links: {{not_found: warn, anchors: warn, unrecognized_links: warn}}
  nav: {{omitted_files: warn}}
"""


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs/site/hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(root, out):
    """Build the site as `make docs` does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def page(site, name):
    return (site / name).read_text()


@pytest.mark.slow
def test_the_site_has_every_public_name_command_and_page(site, hooks):
    for name, module in paraphrastic_hf._PUBLIC.items():
        folder = module.split(".")[1]
        html = page(site, f"reference/{folder if folder in hooks.WHOLE else name}.html")
        assert f'id="{module}.{name}"' in html, name
    for name in COMMANDS:
        assert "usage: paraphrastic" in page(site, f"cli/{name}.html")
    readmes = [path.parent.relative_to(ROOT) for path in ROOT.glob("recipes/*/README.md")]
    written = [
        *("index.html", "ARCHITECTURE.html", "CHANGELOG.html", "docs/analyses.html"),
        *("docs/guides/train.html", "benchmarks/index.html"),
        *(f"{folder}/index.html" for folder in readmes),
        *(f"docs/notebooks/{path.stem}.html" for path in ROOT.glob("docs/notebooks/*.ipynb")),
    ]
    assert [name for name in written if not (site / name).is_file()] == []


@pytest.mark.slow
def test_the_site_loads_no_external_files(site):
    for path in site.rglob("*.html"):
        assert FETCHED.findall(path.read_text()) == [], path
    for path in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?https?:", path.read_text()), path


def small(folder, readme):
    (folder / "mkdocs.yml").write_text(SMALL.format(root=ROOT))
    (folder / "README.md").write_text(readme)
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# A\n\n## A part\n\n[home](../README.md)\n")
    (folder / "data").mkdir()
    (folder / "data" / "rows.tsv").write_text("1\t2\n")
    return build(folder, folder / "out")


def test_links_to_pages_files_and_folders_work(tmp_path):
    links = "[a](docs/a.md) [part](docs/a.md#a-part) [rows](data/rows.tsv) [all](data) `[x](y.md)`"
    done = small(tmp_path, f"# Home\n\n{links}\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "data" / "rows.tsv").read_text() == "1\t2\n"
    assert "rows.tsv" in (tmp_path / "out" / "data" / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("link", ["docs/b.md", "docs/a.md#no-part", "data/none.tsv", "nowhere"])
def test_a_broken_link_fails_the_build(tmp_path, link):
    done = small(tmp_path, f"# Home\n\n[broken]({link})\n")
    assert done.returncode == 1
    assert link.partition("#")[2] or link in done.stderr


def test_pages_are_sorted_into_the_longest_matching_folder(hooks):
    sections = [{"More": "docs/"}, {"Guides": ["docs/guides/", "docs/data.md"]}, {"X": "x/"}]
    nav = ["README.md", *sections]
    known = ["README.md", "docs/a.md", "docs/data.md", "docs/guides/use.md"]
    more, guides = ["docs/a.md"], ["docs/guides/use.md", "docs/data.md"]
    assert hooks.expanded(nav, known) == ["README.md", {"More": more}, {"Guides": guides}]


def test_a_notebook_becomes_a_page_with_its_outputs(hooks):
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": ["print(1)"], "outputs": [{"text": ["1\n"]}]},
    ]
    drawn = hooks.notebook_page({"cells": cells}, "a.ipynb")
    assert "# Title\ntext\n\n```python\nprint(1)\n```\n\n```text\n1\n```" in drawn


def test_docstring_examples_of_the_hooks_run(hooks):
    assert doctest.testmod(hooks).failed == 0
