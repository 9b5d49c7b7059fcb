"""Files of bitext: two aligned text files (Moses), TSV, TMX; found in a folder or an OPUS zip.

Every reader gives rows as `data/pairs.py` takes them: a place with two sides, or with what is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from paraphrastic_hf.data.folder import Folder
from paraphrastic_hf.data.lines import open_lines
from paraphrastic_hf.data.pairs import iterate_rows
from paraphrastic_hf.errors import DataError

Pairs = Iterator[tuple[str, "list[str] | str"]]
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def moses_pairs(first: Path, second: Path) -> Pairs:
    """Lines of two aligned text files; .gz and .xz are unpacked."""
    return iterate_rows(first, second=second)


def tsv_pairs(path: Path, *, columns: tuple[int, int] = (0, 1)) -> Pairs:
    """Two columns of a tab-separated file; .gz and .xz are unpacked."""
    for place, row in iterate_rows(path):
        if isinstance(row, str):
            yield place, row
        elif len(row) <= max(columns):
            yield place, f"without {max(columns) + 1} columns"
        else:
            yield place, [row[column] for column in columns]


def tmx_pairs(path: Path, first: str, second: str) -> Pairs:
    """Translation units of a TMX file that have both languages; read unit by unit.

    Raises:
        DataError: It is no well-formed XML.
    """
    number = 0
    with open_lines(path) as file:
        try:
            for _, unit in ElementTree.iterparse(file, events=("end",)):
                if unit.tag.rsplit("}", 1)[-1] != "tu":
                    continue
                number += 1
                sides = _unit_sides(unit)
                if first in sides and second in sides:
                    yield f"{path.name}:unit {number}", [sides[first], sides[second]]
                else:
                    yield f"{path.name}:unit {number}", f"without {first} and {second}"
                unit.clear()
        except (ElementTree.ParseError, EOFError, OSError) as error:
            raise DataError(f"{path} is no whole TMX file after unit {number}: {error}") from error


def _unit_sides(unit: ElementTree.Element) -> dict[str, str]:
    sides: dict[str, str] = {}
    for variant in unit:
        language = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
        segment = next((part for part in variant if part.tag.rsplit("}", 1)[-1] == "seg"), None)
        if segment is not None:
            text = " ".join("".join(segment.itertext()).split())
            sides.setdefault(language.lower().split("-")[0], text)
    return sides


def find_bitext(folder: Folder, first: str, second: str) -> Pairs:
    """The bitext of two languages in a folder, whatever its format.

    Looked for in this order: `*.en-fr.en` with `*.en-fr.fr`, `*.en` with `*.fr`, `*.tmx`, a TSV;
    in either order of the languages.

    Raises:
        DataError: There is none, or there are several.
    """
    root = folder.roots[0]
    if root.is_file():
        return _single(root, first, second)
    for top in folder.roots:
        for ours, theirs in ((first, second), (second, first)):
            left = _matches(top, f"*.{ours}-{theirs}.{first}") or _matches(top, f"*.{first}")
            for path in left:
                for ending in ("", ".gz", ".xz"):
                    partner = _partner(path, first, second, ending)
                    if partner is not None:
                        return moses_pairs(path, partner)
    for top in folder.roots:
        found = [
            path
            for pattern in ("*.tmx", "*.tmx.gz", "*.tsv", "*.tsv.gz", "*.tsv.xz")
            for path in sorted(top.rglob(pattern))
        ]
        named = [
            path for path in found if {first, second} <= set(path.name.replace("-", ".").split("."))
        ]
        found = named or found
        if len(found) > 1:
            raise DataError(
                f"{folder.name}: {top} holds several files, {found[0].name} and {found[1].name}; "
                "name one as data_dir"
            )
        if found:
            return _single(found[0], first, second)
    raise DataError(
        f"{folder.name}: {root} holds no {first}-{second} bitext; expected *.{first} with "
        f"*.{second}, a .tmx or a .tsv"
    )


def _single(path: Path, first: str, second: str) -> Pairs:
    if ".tmx" in path.suffixes:
        return tmx_pairs(path, first, second)
    return tsv_pairs(path)


def _matches(top: Path, pattern: str) -> list[Path]:
    return [
        path
        for ending in ("", ".gz", ".xz")
        for path in sorted(top.rglob(pattern + ending))
        if path.is_file()
    ]


def _partner(path: Path, first: str, second: str, ending: str) -> Path | None:
    stem = path.name
    for suffix in (".gz", ".xz"):
        stem = stem.removesuffix(suffix)
    candidate = path.with_name(stem.removesuffix(first) + second + ending)
    return candidate if candidate.is_file() else None
