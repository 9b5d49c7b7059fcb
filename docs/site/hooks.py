"""Hooks of mkdocs: collect the written pages, generate the others.

Pages keep their paths in the repository, so that links work on the site too. Linked files are
copied. A linked folder without a README becomes a page that lists its files. A broken link is an
error.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

WRITTEN = (  # patterns of handwritten pages
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(
        "docs/*.md",
        "docs/guides/*.md",
        "docs/design/*.md",
        "recipes/*/*.md",
        "benchmarks/README.md",
    ),
    "hub_cards/models/*.md",
)
BOOSTED = ("README.md", "docs/guides/", "docs/notebooks/")  # first among search results
UNSEARCHED = ("CHANGELOG.md", "docs/report.md", "docs/tables.md", "recipes/", "hub_cards/models/")
TRIED = ("README.md", "docs/guides/browser.md")  # pages with a link to the page of `web/`
TRY_FOLDER = "try"
TRY = '<a class="md-button md-button--primary" href="{}">Try it in this browser</a>'
WHOLE = ("layers", "losses", "metrics", "mining")  # folders with all modules in the reference
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(?=[)#\s])")
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace folders in `nav` by their pages."""
    root = Path(str(config.config_file_path)).parent
    config["nav"] = expanded(config.nav or [], list(pages(root)))
    config.watch = [str(root / name) for name in ("docs", "README.md", "recipes", "src")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the files that they link to."""
    root = Path(str(config.config_file_path)).parent
    found = pages(root)
    for path, content in found.items():
        files.append(File.generated(config, path, content=content))
    linked = {target for path, content in found.items() for target in targets(path, content)}

    def add(path: str, **given: str) -> None:
        if files.get_file_from_path(path) is None:
            hidden = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, path, inclusion=hidden, **given))

    for path in sorted(linked - set(found)):
        source = root / path
        if not source.resolve().is_relative_to(root.resolve()):
            continue
        if source.is_file():
            add(path, abs_src_path=str(source))
        elif source.is_dir() and not (source / "README.md").is_file():
            add(f"{path}/README.md", content=listed(source, path))
            for each in _files_of(source):
                add(f"{path}/{each.name}", abs_src_path=str(each))
        elif source.is_dir():
            add(f"{path}/README.md", abs_src_path=str(source / "README.md"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to folders and notebooks at their pages, and weight the page for the search."""
    path = page.file.src_uri
    if path.startswith(UNSEARCHED):
        page.meta["search"] = {"exclude": True}
    elif path.startswith(BOOSTED):
        page.meta["search"] = {"boost": 8}
    if path.startswith("cli/") and "\n## " not in markdown:
        page.meta["hide"] = ["toc"]  # an empty one takes the width of 100 columns
    folder = posixpath.dirname(path)
    if path in TRIED:
        button = TRY.format(posixpath.relpath(f"{TRY_FOLDER}/index.html", folder or "."))
        markdown = markdown.replace("\n## ", f"\n{button}\n\n## ", 1)

    def whole(match: re.Match[str]) -> str:
        link = match[1].rstrip("/")
        for other in (f"{link}/README.md", re.sub("[.]ipynb$", ".md", link)):
            if files.get_file_from_path(posixpath.normpath(posixpath.join(folder, other))):
                return other
        return match[1]

    return outside_code(markdown, lambda text: LINK.sub(whole, text))


def on_post_build(config: MkDocsConfig) -> None:
    """Add the page that runs models in the browser."""
    program = Path(str(config.config_file_path)).parent / "web" / "assemble.py"
    if program.is_file():
        folder = Path(config.site_dir, TRY_FOLDER)
        subprocess.run([sys.executable, str(program), str(folder)], check=True)


def pages(root: Path) -> dict[str, str]:
    """Return every page of the nav by path, in the order of the nav."""
    written = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for pattern in WRITTEN
        for path in sorted(root.glob(pattern))
    }
    notebooks = {
        path.relative_to(root).with_suffix(".md").as_posix(): notebook_page(
            json.loads(path.read_text(encoding="utf-8")), path.name
        )
        for path in sorted(root.glob("docs/notebooks/*.ipynb"))
    }
    made = {}
    if (root / "src" / "paraphrastic_hf").is_dir():
        made = {**reference_pages(root / "src" / "paraphrastic_hf"), **command_pages()}
    return {**written, **notebooks, **made}


def expanded(nav: list[Any], known: list[str]) -> list[Any]:
    """Return a nav with each path that ends in / replaced by its pages.

    Pages named elsewhere are omitted. A page belongs to the longest such path; empty paths vanish.

    Example:
        >>> expanded(["a.md", {"B": "b/"}, {"C": "c/"}], ["a.md", "b/x.md", "b/y.md"])
        ['a.md', {'B': ['b/x.md', 'b/y.md']}]
    """
    entries = list(_entries(nav))
    folders = sorted((each for each in entries if each.endswith("/")), key=len, reverse=True)
    members: dict[str, list[str]] = {folder: [] for folder in folders}
    for page in known:
        folder = next((each for each in folders if page.startswith(each)), None)
        if folder and page not in entries:
            members[folder].append(page)

    def of(items: list[Any]) -> Iterator[Any]:
        for item in items:
            ((title, value),) = item.items() if isinstance(item, dict) else ((None, item),)
            if isinstance(value, list):
                value = list(of(value))
            elif value in members:
                value = members[value]
            if title is None and isinstance(value, list):
                yield from value
            elif value:
                yield value if title is None else {title: value}

    return list(of(nav))


def targets(path: str, markdown: str) -> set[str]:
    """Return the paths in the repository that a page links to.

    Example:
        >>> targets("docs/a.md", "[b](b.md#c) `[d](d.md)` [f](https://f.org) [g](#g)")
        {'docs/b.md'}
    """
    found: set[str] = set()

    def keep(text: str) -> str:
        found.update(match[1] for match in LINK.finditer(text))
        return text

    outside_code(markdown, keep)
    folder = posixpath.dirname(path)
    return {posixpath.normpath(posixpath.join(folder, each)) for each in found}


def outside_code(markdown: str, change: Any) -> str:
    """Change the text of Markdown outside its code."""
    parts, at = [], 0
    for match in CODE.finditer(markdown):
        parts += [change(markdown[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, change(markdown[at:])])


def listed(folder: Path, path: str) -> str:
    """Return a page that lists the files of a folder and the READMEs of its subfolders."""
    inner = sorted(each.name for each in folder.iterdir() if (each / "README.md").is_file())
    names = [*(f"{name}/README.md" for name in inner), *(each.name for each in _files_of(folder))]
    lines = [f"* [{name.removesuffix('/README.md')}]({name})" for name in names]
    return "\n".join([f"# {path}", "", *lines, ""])


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown: text, code and output."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", []):
            parts.append("```text\n" + "".join(output.get("text", [])).rstrip() + "\n```")
    return "\n\n".join([*parts, f"The notebook is `docs/notebooks/{name}`."]) + "\n"


def reference_pages(source: Path) -> dict[str, str]:
    """Return a page for each public name, `SentenceEncoder` first, and one per `WHOLE` folder."""
    import paraphrastic_hf

    public = paraphrastic_hf._PUBLIC
    result = {}
    for name in sorted(public, key=lambda name: (name != "SentenceEncoder", name.lower())):
        if public[name].split(".")[1] not in WHOLE:
            result[f"reference/{name}.md"] = f"# {name}\n\n::: {public[name]}.{name}\n"
    for folder in WHOLE:
        modules = sorted(path.stem for path in (source / folder).glob("[!_]*.py"))
        parts = [f"# {folder}", _docstring(source / folder / "__init__.py")]
        parts += [f"::: paraphrastic_hf.{folder}.{module}" for module in modules]
        result[f"reference/{folder}.md"] = "\n\n".join(parts) + "\n"
    return result


def command_pages() -> dict[str, str]:
    """Return a page for each command with its help."""
    from paraphrastic_hf.cli.main import COMMANDS, build_parser

    result = {}
    with patch.dict(os.environ, {"COLUMNS": "92", "NO_COLOR": "1"}):
        for name, summary in COMMANDS.items():
            parser = next(_subparsers(build_parser([name])))[1][name]
            parts = [f"# {name}", "", summary, "", *_help(parser)]
            if name == "train":
                parts += _key_tables()
            for _, inner in _subparsers(parser):
                for each, subparser in inner.items():
                    parts += [f"## {name} {each}", "", *_help(subparser)]
            result[f"cli/{name}.md"] = "\n".join(parts)
    return result


def _key_tables() -> list[str]:
    """Tables of recipe keys: those of the first kind, then those that each other kind adds."""
    from paraphrastic_hf.cli.shared.keys import key_tables
    from paraphrastic_hf.cli.train import source_fields
    from paraphrastic_hf.config.recipe import key_paths
    from paraphrastic_hf.training.kinds import JOBS

    lines: list[str] = []
    known: dict[str, Any] = {}
    for kind, job in JOBS.items():
        fields = key_paths(job.recipe)
        new = {k: f for k, f in fields.items() if k not in known or known[k].metadata != f.metadata}
        title = f"## Keys of kind {kind}" + (", if new or different" if known else "")
        new |= {} if known else source_fields()
        known = known or fields
        lines += [title, "", "```text", *key_tables(new), "```", ""]
    return lines


def _help(parser: argparse.ArgumentParser) -> list[str]:
    return ["```text", parser.format_help().rstrip(), "```", ""]


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, dict[str, Any]]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield action.dest, dict(action.choices)


def _docstring(path: Path) -> str:
    import ast

    if not path.is_file():
        return ""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _entries(nav: list[Any]) -> Iterator[str]:
    for item in nav:
        value = next(iter(item.values())) if isinstance(item, dict) else item
        if isinstance(value, list):
            yield from _entries(value)
        else:
            yield value


def _files_of(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
