"""Reader of dictd dictionaries, the format of FreeDict's free dictionaries (about 140 pairs).

Each line of an `.index` file has a headword and the position of its entry in the `.dict` or
`.dict.dz` file beside it. An entry is the headword with its pronunciation, then its senses, mostly
one per line:

    bowl /boul/ <n>
    1. fuente, pelvis
    2. (deep) cuenco

Text that may not be a translation is left out: brackets, cross references, examples, notes, and
explanations of more than `MAX_WORDS` words. WikDict's dictionaries have the definition of a sense
on the lines below its translations:

    Alper /"alper/ <pn>
    1. Alps
    bergskedja i Europa
"""

import gzip
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import READ_ERRORS, text_lines

MAX_WORDS = 5
_DIGITS = string.ascii_uppercase + string.ascii_lowercase + "0123456789+/"
_ABOUT = ("00-database", "00database")  # entries that describe the dictionary
_DEFINES, _ABOUT_LENGTH = b"WikDict", 4096  # if the description has this name, senses are defined
_PRONOUNCED = re.compile(r"\s/.*/")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>|\{[^{}]*\}")
_NUMBER, _NEXT = re.compile(r"^\s*\d+\.\s*"), re.compile(r"\s\d+\.\s*$")
_NO_SENSE = re.compile(r'\s*("|(see|see also|note|synonyms?|antonyms?|usage)\s*:)', re.IGNORECASE)
_BETWEEN = re.compile(r"[,;،؛、；]|(?<=\w\w)\.\s")
_EDGES = " .,;:،؛、；!?\u2003"
_SOUNDS = re.compile("[\u0250-\u02af\u02b0-\u02ff\u0361]")  # a pronunciation without slashes


def dictionary_pairs(index: Path, scripts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield `(place, [headword, translation])` for each translation of a dictionary, in order.

    Both sides must have a letter of their `scripts`, the first words of letters' Unicode names.
    """
    texts = entries(index)
    has_definitions = _DEFINES in texts[:_ABOUT_LENGTH]
    read: set[tuple[int, int]] = set()
    for number, line in text_lines(index):
        place = f"{index.name}:{number}"
        word, _, rest = line.partition("\t")
        try:
            start, length = map(_number, rest.split("\t")[:2])
        except ValueError:
            raise DataError(f"{index}:{number} is not a headword with two numbers") from None
        if start + length > len(texts):
            raise DataError(f"{index}:{number} points beyond the end of the entries")
        if word.startswith(_ABOUT) or (start, length) in read:
            continue  # another spelling of an entry
        read.add((start, length))
        entry = texts[start : start + length].decode("utf-8", "replace")
        for head, translation in translations(entry, has_definitions):
            if _is_in(head, scripts[0]) and _is_in(translation, scripts[1]):
                yield place, [head, translation]


def translations(entry: str, has_definitions: bool = False) -> Iterator[tuple[str, str]]:
    """Yield headword and translation for every translation of an entry."""
    first, *senses = entry.split("\n")
    head = _plain(_PRONOUNCED.sub(" ", first))
    if not head or len(head.split()) > MAX_WORDS or len(_parts(head)) > 1 or _SOUNDS.search(head):
        return
    for sense in _first_lines(senses) if has_definitions else senses:
        if _NO_SENSE.match(sense):
            continue
        for part in _parts(_plain(_NEXT.sub("", _NUMBER.sub("", sense)))):
            if len(part.split()) <= MAX_WORDS and not _SOUNDS.search(part):
                yield head, part


def _first_lines(senses: Sequence[str]) -> Iterator[str]:
    """Yield the line with the translations of each sense. Later senses begin with their number."""
    expected = 1
    for place, sense in enumerate(senses):
        if place == 0 or (expected > 1 and sense.startswith(f"{expected}.")):
            yield sense
            expected += sense.startswith(f"{expected}.")


def _parts(text: str) -> list[str]:
    return [part for each in _BETWEEN.split(text) if (part := each.strip(_EDGES))]


def _plain(text: str) -> str:
    """Remove brackets and Arabic vowel marks."""
    while (less := _BRACKETS.sub(" ", text)) != text:
        text = less
    marks = (c for c in text if not "\u064b" <= c <= "\u0652" and c != "\u0640")
    return " ".join("".join(marks).split())


def _is_in(text: str, scripts: str) -> bool:
    names = (unicodedata.name(c, "") for c in text if c.isalpha())
    return any(name.startswith(tuple(scripts.split())) for name in names)


def _number(digits: str) -> int:
    value = 0
    for digit in digits.strip():
        value = 64 * value + _DIGITS.index(digit)
    return value


def entries(index: Path) -> bytes:
    """Return all entries of a dictionary as unpacked text, with its description first."""
    for path in (index.with_suffix(".dict.dz"), index.with_suffix(".dict")):
        if path.is_file():
            try:
                with gzip.open(path) if path.suffix == ".dz" else path.open("rb") as file:
                    return file.read()
            except READ_ERRORS as error:
                raise DataError(f"Cannot read {path}: {error}") from error
    raise DataError(
        f"{index} requires the file of its entries, {index.stem}.dict.dz, in the same folder"
    )
