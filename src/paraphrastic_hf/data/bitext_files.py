"""Files of bitext: two aligned text files (Moses), TSV, TMX; found in a folder or an OPUS zip.

Every reader gives rows as `data/pairs.py` takes them: a place with two sides, or with what is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from paraphrastic_hf.data.folder import Folder
from paraphrastic_hf.data.lines import READ_ERRORS, open_lines
from paraphrastic_hf.data.pairs import Harmless, iterate_rows
from paraphrastic_hf.errors import DataError, MissingFileError

Pairs = Iterator[tuple[str, "list[str] | str"]]
PACKED = ("", ".gz", ".xz")
Found = TypeVar("Found")
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def moses_pairs(first: Path, second: Path) -> Pairs:
    """Lines of two aligned text files; .gz, .xz and .bz2 are unpacked."""
    return iterate_rows(first, second=second)


def tsv_pairs(
    path: Path, *, columns: tuple[str, str] | None = None, prefer: tuple[str, ...] = ()
) -> Pairs:
    """Two columns of a table, as `iterate_rows` takes them; .gz, .xz and .bz2 are unpacked."""
    return iterate_rows(path, columns=columns, prefer=prefer)


def tmx_pairs(path: Path, first: str, second: str) -> Pairs:
    """Translation units of a TMX file that have both languages, read unit by unit.

    Regions do not matter (`en-US` is `en`); of one language twice, the first two variants count.

    Raises:
        DataError: It is no well-formed XML.
    """
    number = 0
    with open_lines(path) as file:
        try:
            body = None
            for event, element in ElementTree.iterparse(file, events=("start", "end")):
                tag = element.tag.rsplit("}", 1)[-1]
                if event == "start":
                    body = element if tag == "body" else body
                    continue
                if tag != "tu":
                    continue
                number += 1
                sides = _unit_sides(element, first, second)
                yield (
                    f"{path.name}:unit {number}",
                    sides or Harmless(f"without {first} and {second}"),
                )
                if body is not None:
                    body.clear()  # or memory would grow with the file
        except DataError:
            raise
        except (ElementTree.ParseError, ValueError, LookupError, *READ_ERRORS) as error:
            raise DataError(f"{path} is no whole TMX file after unit {number}: {error}") from error


def _unit_sides(unit: ElementTree.Element, first: str, second: str) -> list[str] | None:
    variants = []
    for variant in unit:
        language = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
        segment = next((part for part in variant if part.tag.rsplit("}", 1)[-1] == "seg"), None)
        if segment is not None:
            variants.append((_code(language), " ".join("".join(segment.itertext()).split())))
    sides = []
    for wanted in (first, second):
        place = next((i for i, (code, _) in enumerate(variants) if code == _code(wanted)), None)
        if place is None:
            return None
        sides.append(variants.pop(place)[1])
    return sides


def _code(language: str) -> str:
    """The language alone, without its region."""
    return language.lower().replace("_", "-").split("-")[0]


def find_bitext(folder: Folder, first: str, second: str) -> Pairs:
    """The bitext of two languages in a folder, whatever its format.

    Looked for in this order: `*.en` with `*.fr`, such as OPUS's `Corpus.en-fr.en`; then a `.tmx`
    or a `.tsv`, whose name may say the order of its columns (`a.en-fr.tsv`).

    Raises:
        DataError: There is none, or there are several.
    """
    root = folder.roots[0]
    if root.is_file():
        return _single(root, first, second)
    for top in folder.places():
        pairs = [
            (path, partner)
            for ending in PACKED
            for path in sorted(top.rglob(f"*.{first}{ending}"))
            for partner in [_partner(path, first, second)]
            if partner is not None
        ]
        of_both = [pair for pair in pairs if _names_both(pair[0], first, second)]
        if pairs:
            return moses_pairs(*_only(of_both or pairs, folder.name))
        names = [f"*{kind}{ending}" for kind in (".tmx", ".tsv") for ending in PACKED]
        found = [path for name in names for path in sorted(top.rglob(name))]
        named = [path for path in found if _names_both(path, first, second)]
        if found:
            return _single(_only(named or found, folder.name), first, second)
    raise MissingFileError(
        f"{folder.name}: {root} holds no {first}-{second} bitext; expected *.{first} with "
        f"*.{second}, a .tmx or a .tsv"
    )


def _only(found: list[Found], name: str) -> Found:
    if len(found) > 1:
        both = " and ".join(str(item[0] if isinstance(item, tuple) else item) for item in found[:2])
        raise DataError(f"{name}: there are several files, {both}; name one folder or file")
    return found[0]


def _names_both(path: Path, first: str, second: str) -> bool:
    return any(f".{a}-{b}." in f".{path.name}" for a, b in ((first, second), (second, first)))


def _single(path: Path, first: str, second: str) -> Pairs:
    if ".tmx" in path.suffixes:
        return tmx_pairs(path, first, second)
    is_swapped = first != second and f".{second}-{first}." in f".{path.name}"
    rows = iterate_rows(path, prefer=(second, first) if is_swapped else (first, second))
    if is_swapped:
        return ((place, row if isinstance(row, str) else row[::-1]) for place, row in rows)
    return rows


def _partner(path: Path, first: str, second: str) -> Path | None:
    """The file of the other language, packed in the same way or another."""
    stem = path.name
    for ending in PACKED[1:]:
        stem = stem.removesuffix(ending)
    for ending in PACKED:
        candidate = path.with_name(stem.removesuffix(first) + second + ending)
        if candidate.is_file() and candidate != path:
            return candidate
    return None
