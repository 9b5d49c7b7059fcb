"""What mkdocs does beyond its configuration: brings pages in from where they are written, and makes
those of the reference, the commands, the notebooks and the thesis's tables.

Every page has the path that its source has in the repository, so that a link between two files is
right on the site as well. Files that are linked and are no pages are copied; a linked folder
without a README becomes a page that lists its files. What is linked and not there is an error of
the build.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

WRITTEN = (  # patterns of the pages that people write
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(
        "docs/*.md",
        "docs/guides/*.md",
        "docs/design/*.md",
        "recipes/*/README.md",
        "benchmarks/README.md",
    ),
    "hub_cards/models/*.md",
)
WHOLE = ("layers", "losses", "metrics", "mining")  # folders whose modules are all in the reference
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(?=[)#\s])")
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"(#+) ")
SLUG = slugify(case="lower")  # as `toc` in mkdocs.yml


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that there are in the places of folders in `nav`."""
    root = Path(str(config.config_file_path)).parent
    config["nav"] = expanded(config.nav or [], list(pages(root)))
    config.watch = [str(root / name) for name in ("docs", "README.md", "recipes", "src")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and what they link to."""
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
    """Have links to folders and notebooks go to their pages."""
    folder = posixpath.dirname(page.file.src_uri)

    def whole(match: re.Match[str]) -> str:
        link = match[1].rstrip("/")
        for other in (f"{link}/README.md", re.sub("[.]ipynb$", ".md", link)):
            if files.get_file_from_path(posixpath.normpath(posixpath.join(folder, other))):
                return other
        return match[1]

    return outside_code(markdown, lambda text: LINK.sub(whole, text))


def pages(root: Path) -> dict[str, str]:
    """Every page in the nav by its path, in the order of the nav."""
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
    tables = table_pages(written)
    made = {}
    if (root / "src" / "paraphrastic_hf").is_dir():
        made = {**reference_pages(root / "src" / "paraphrastic_hf"), **command_pages()}
    return {**written, **notebooks, **tables, **made}


def expanded(nav: list[Any], known: list[str]) -> list[Any]:
    """A nav where a path that ends in / has become the pages there that are named nowhere else.

    A page belongs to the longest such path; one without pages is left out.

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
    """The files and folders that a page links to, by their paths in the repository.

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
    """Markdown with its text changed and its code left alone."""
    parts, at = [], 0
    for match in CODE.finditer(markdown):
        parts += [change(markdown[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, change(markdown[at:])])


def listed(folder: Path, path: str) -> str:
    """A page that lists the files of a folder, and the READMEs of the folders in it."""
    inner = sorted(each.name for each in folder.iterdir() if (each / "README.md").is_file())
    names = [*(f"{name}/README.md" for name in inner), *(each.name for each in _files_of(folder))]
    lines = [f"* [{name.removesuffix('/README.md')}]({name})" for name in names]
    return "\n".join([f"# {path}", "", *lines, ""])


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown: its text, its code, and what the code printed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", []):
            parts.append("```text\n" + "".join(output.get("text", [])).rstrip() + "\n```")
    return "\n\n".join([*parts, f"The notebook is `docs/notebooks/{name}`."]) + "\n"


def table_pages(known: dict[str, str]) -> dict[str, str]:
    """A page for each table of the thesis that docs/tables.md has a row of: its state, its command,
    and the section that the row links to, in which our figures are.

    Example:
        >>> row = "| Table 7 | words | [r](r.md#a-part) | `ls` | holds |"
        >>> ours = "# R\\n## A part\\nOurs."
        >>> pages = table_pages({"docs/tables.md": "## Thesis, 3\\n" + row, "docs/r.md": ours})
        >>> print(pages["tables/table-7.md"])
        # Table 7: words
        <BLANKLINE>
        Thesis, 3. Here it holds.
        <BLANKLINE>
            ls
        <BLANKLINE>
        From [r](../docs/r.md#a-part):
        <BLANKLINE>
        Ours.
        <BLANKLINE>
    """
    found: dict[int, str] = {}
    chapter = ""
    for line in known.get("docs/tables.md", "").splitlines():
        if line.startswith("## "):
            chapter = line.removeprefix("## ")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)[|]", line)[1:-1]]
        named = re.fullmatch(r"Table (\d+)", cells[0]) if len(cells) == 5 else None
        if named is None or not chapter.startswith("Thesis"):
            continue
        name, what, where, command, state = cells
        parts = [f"# {name}: {what}", f"{chapter}. Here it {_said(state)}."]
        if command != "-":
            parts.append(f"    {command.strip('`')}")
        if link := re.search(r"\]\(([^)#]+)#?([^)]*)\)", where):
            path = posixpath.normpath(posixpath.join("docs", link[1]))
            text = section(known.get(path, ""), link[2]) if link[2] else ""
            told = moved(where, "docs/tables.md", "tables")
            parts += [f"From {told}:", moved(text, path, "tables")] if text else [f"See {told}."]
        found[int(named[1])] = "\n\n".join(parts).rstrip() + "\n"
    return {f"tables/table-{number}.md": found[number] for number in sorted(found)}


def section(markdown: str, anchor: str) -> str:
    """What stands under the heading of an anchor, to the next heading that is no deeper.

    Example:
        >>> section("# A\\n## The `b` part\\nb\\n### c\\n## D", "the-b-part")
        'b\\n### c'
    """
    lines, depth, is_code = [], 0, False
    for line in markdown.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else HEADING.match(line)
        if heading and depth and len(heading[1]) <= depth:
            break
        if depth:
            lines.append(line)
        elif heading and SLUG(re.sub(r"[`*]", "", line[heading.end() :]), "-") == anchor:
            depth = len(heading[1])
    return "\n".join(lines).strip()


def moved(markdown: str, path: str, folder: str) -> str:
    """Markdown of one page with its links as they must be in another folder.

    Example:
        >>> moved("[a](../a.md) [b](#b)", "docs/x.md", "tables")
        '[a](../a.md) [b](../docs/x.md#b)'
    """

    def from_there(match: re.Match[str]) -> str:
        there = posixpath.join(posixpath.dirname(path), match[1])
        return posixpath.relpath(posixpath.normpath(there), folder)

    def change(text: str) -> str:
        text = re.sub(r"(?<=\]\()(?=#)", posixpath.basename(path), text)
        return LINK.sub(from_there, text)

    return outside_code(markdown, change)


def _said(state: str) -> str:
    """A state as the end of a sentence."""
    if state.startswith(("holds", "does not hold", "cannot be done here")):
        return state
    return f"is {state}" if state.startswith("not yet") else f"has {state}"


def reference_pages(source: Path) -> dict[str, str]:
    """A page for each folder of the package with its public names: those that `paraphrastic_hf`
    itself has, and of some folders every module."""
    import paraphrastic_hf

    lines: dict[str, list[str]] = {}
    for name, module in paraphrastic_hf._PUBLIC.items():
        lines.setdefault(module.split(".")[1], []).append(f"{module}.{name}")
    result = {}
    for folder in sorted({*lines, *WHOLE}):
        parts = [f"# {folder}", "", _docstring(source / folder / "__init__.py"), ""]
        names = lines.get(folder, [])
        if folder in WHOLE:
            modules = sorted((source / folder).glob("[!_]*.py"))
            names = [f"paraphrastic_hf.{folder}.{each.stem}" for each in modules]
        for name in names:
            parts += [f"::: {name}", ""]
        result[f"reference/{folder}.md"] = "\n".join(parts)
    return result


def command_pages() -> dict[str, str]:
    """A page for each command with the help that it prints."""
    from paraphrastic_hf.cli.main import COMMANDS, build_parser

    result = {}
    with patch.dict(os.environ, {"COLUMNS": "96", "NO_COLOR": "1"}):
        for name, summary in COMMANDS.items():
            parser = next(_subparsers(build_parser([name])))[1][name]
            parts = [f"# {name}", "", f"{summary[0].upper()}{summary[1:]}.", "", *_help(parser)]
            for _, inner in _subparsers(parser):
                for each, subparser in inner.items():
                    parts += [f"## {name} {each}", "", *_help(subparser)]
            result[f"cli/{name}.md"] = "\n".join(parts)
    return result


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
