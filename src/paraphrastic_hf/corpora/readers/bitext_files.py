"""Readers of bitext files: aligned text files, TSV and TMX, in a folder or an OPUS zip.

They yield `(place, texts)` for a good row and `(place, reason)` for a bad row (`io/pairs.py`).
"""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast
from xml.etree import ElementTree

from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.files import visible_files
from paraphrastic_hf.io.lines import PACKED, READ_ERRORS, Harmless, open_lines
from paraphrastic_hf.io.pairs import iterate_rows

Pairs = Iterator[tuple[str, "list[str] | str"]]
LONGEST_HEAD = 1000  # number of first bytes searched for the XML declaration
NATIVE_CODES = frozenset(["bpt", "ept", "ph", "it", "ut"])  # TMX 1.4b: formatting codes, not text
Found = TypeVar("Found")
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def tmx_pairs(path: Path, first: str, second: str) -> Pairs:
    """Yield the translation units of a TMX file that have both languages.

    The language `en` matches any region. `en_gb` matches `en-GB`, or else a variant without region.
    If two variants in a unit match both languages, the first variant is used for `first`.
    """
    number, encoding = 0, "utf-8"
    with open_lines(path) as file:
        try:
            encoding = _xml_encoding(cast(Any, file).peek(LONGEST_HEAD))
            body = None
            for event, element in ElementTree.iterparse(file, events=("start", "end")):
                tag = _tag(element)
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
                    body.clear()  # otherwise memory would grow with the file
        except DataError:
            raise
        except (ElementTree.ParseError, ValueError, LookupError, *READ_ERRORS) as error:
            raise DataError(
                f"{path} is not valid TMX after unit {number}, read as {encoding}: {error}. If "
                "the encoding is wrong, convert the file with iconv -t utf-8 and write "
                'encoding="utf-8" in its first line'
            ) from error


def _xml_encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    declared = re.match(rb"""[^<]*<\?xml[^>]*encoding=["']([^"']+)""", head)
    return declared[1].decode("ascii", "replace") if declared else "utf-8"


def _unit_sides(unit: ElementTree.Element, first: str, second: str) -> list[str] | None:
    variants = []
    for variant in unit:
        language = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
        segment = next((part for part in variant if _tag(part) == "seg"), None)
        if segment is not None:
            variants.append((_code(language), " ".join("".join(_texts(segment)).split())))
    sides = []
    for wanted in map(_code, (first, second)):
        language, _, region = wanted.partition("-")
        codes = [code if region else code.partition("-")[0] for code, _ in variants]
        found = next((code for code in (wanted, language) if code in codes), None)
        if found is None:
            return None
        sides.append(variants.pop(codes.index(found))[1])
    return sides


def _texts(element: ElementTree.Element) -> Iterator[str]:
    yield element.text or ""
    for part in element:
        if _tag(part) not in NATIVE_CODES:
            yield from _texts(part)
        yield part.tail or ""


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rsplit("}", 1)[-1]  # without the namespace


def _code(language: str) -> str:
    return language.lower().replace("_", "-")


def find_bitext(folder: Folder, first: str, second: str) -> Pairs:
    """Find and read the bitext of two languages in a folder: `*.en` with `*.fr`, or else a `.tmx`
    or `.tsv` file (also .gz, .xz, .bz2). A name may give the order of columns (`a.en-fr.tsv`).
    Case does not matter.
    """
    root = folder.roots[0]
    if root.is_file():
        return _single(root, first, second)
    for top in folder.places():
        files = {path: _unpacked_name(path) for path in visible_files(top, "**/*")}
        by_name = {path.with_name(name): path for path, name in reversed(files.items())}
        pairs = [
            (path, partner)
            for path, name in files.items()
            if name.endswith(f".{first.lower()}")
            for stem in [name.removesuffix(first.lower())]
            for partner in [by_name.get(path.with_name(stem + second.lower()))]
            if partner is not None and partner != path
        ]
        of_both = [pair for pair in pairs if _names_both(pair[0], first, second)]
        if pairs:
            source, target = _only(of_both or pairs, folder.name)
            return iterate_rows(source, second=target)
        found = [path for path, name in files.items() if name.endswith((".tmx", ".tsv"))]
        named = [path for path in found if _names_both(path, first, second)]
        if found:
            return _single(_only(named or found, folder.name), first, second)
    raise MissingFileError(
        f"{folder.name}: {root} contains no {first}-{second} bitext. Expected *.{first} with "
        f"*.{second}, a .tmx or a .tsv"
    )


def _only(found: list[Found], name: str) -> Found:
    if len(found) > 1:
        both = " and ".join(str(item[0] if isinstance(item, tuple) else item) for item in found[:2])
        raise DataError(f"{name}: {both} both match. Give one folder or file")
    return found[0]


def _names_both(path: Path, first: str, second: str) -> bool:
    name = f".{path.name}".lower()
    return any(f".{a}-{b}.".lower() in name for a, b in ((first, second), (second, first)))


def _single(path: Path, first: str, second: str) -> Pairs:
    if ".tmx" in path.name.lower():
        return tmx_pairs(path, first, second)
    is_swapped = first != second and f".{second}-{first}.".lower() in f".{path.name}".lower()
    rows = iterate_rows(path, prefer=(second, first) if is_swapped else (first, second))
    if is_swapped:
        return ((place, row if isinstance(row, str) else row[::-1]) for place, row in rows)
    return rows


def _unpacked_name(path: Path) -> str:
    return (path.stem if path.suffix in PACKED else path.name).lower()
