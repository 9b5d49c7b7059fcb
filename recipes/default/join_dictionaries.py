"""Words of two languages beside each other, by the dictionaries that a third has of both:
`join_dictionaries.py DICTD tr en de fr es --output DIR` writes `DIR/en-tr/wikdict.tsv.xz` and so
on, and lists them with their license in `DIR/SOURCES.tsv`, where model cards look for it.

DICTD is a folder of FreeDict's `.index` and `.dict.dz` files. Swedish has a dictionary to Turkish
and one to German, so that the translations of one Swedish word are translations of each other, most
of them. Headwords of many senses would join words that have nothing in common, so those with more
than `--most` different translations in a dictionary are left out. A dictionary of the two languages
themselves is read as it is. `--says` is what the license of every dictionary must say.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from paraphrastic_hf.corpora.readers.dictionaries import FREEDICT, dictionary_pairs, entries
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.hub.source_lists import release_class, write_source

Dictionary = dict[str, list[str]]
ABOUT_LENGTH = 4096
NAME = "wikdict"


class Shelf:
    """The dictionaries of a folder, by the languages of headwords and of translations."""

    def __init__(self, folder: Path, license: str) -> None:
        code = {three: two for two, three in FREEDICT.items()}
        self.paths: dict[tuple[str, str], Path] = {}
        for path in sorted(folder.rglob("freedict-*.index")):
            languages = path.stem.removeprefix("freedict-").split("-")
            if all(language in code for language in languages) and says(path, license):
                head, other = (code[language] for language in languages)
                self.paths[head, other] = path
        self.known: dict[tuple[str, str], Dictionary] = {}

    def read(self, head: str, other: str) -> Dictionary:
        """Of each headword its translations; nothing where there is no such dictionary."""
        if (head, other) not in self.known:
            found: Dictionary = {}
            if (head, other) in self.paths:
                for _, (word, translation) in dictionary_pairs(
                    self.paths[head, other], (head, other)
                ):
                    translations = found.setdefault(word, [])
                    if translation not in translations:
                        translations.append(translation)
            self.known[head, other] = found
        return self.known[head, other]

    def pairs(self, first: str, second: str, most: int) -> Iterator[tuple[str, str]]:
        """Words of two languages that are translations of each other, or of one word."""
        for word, translations in self.read(first, second).items():
            yield from ((word, each) for each in translations)
        for word, translations in self.read(second, first).items():
            yield from ((each, word) for each in translations)
        for pivot in sorted({head for head, _ in self.paths} - {first, second}):
            of_first, of_second = self.read(pivot, first), self.read(pivot, second)
            for word in of_first.keys() & of_second.keys():
                if max(len(of_first[word]), len(of_second[word])) <= most:
                    yield from ((a, b) for a in of_first[word] for b in of_second[word])


def says(path: Path, license: str) -> bool:
    """Whether what a dictionary says of itself has these words."""
    return license in " ".join(entries(path)[:ABOUT_LENGTH].decode("utf-8", "replace").split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, metavar="DICTD", help="dictionaries, at any depth")
    parser.add_argument("language", help="code of the language that is joined to others")
    parser.add_argument("others", nargs="+", metavar="OTHER", help="code of a language")
    parser.add_argument("--most", type=int, default=3, help="translations of a word, 3 if not said")
    parser.add_argument(
        "--says", default="Attribution-ShareAlike 3.0", help="words of every license"
    )
    parser.add_argument("--license", default="CC-BY-SA 3.0", help="its name, for the list")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="a folder directly in the data"
    )
    args = parser.parse_args()
    for other in (args.language, *args.others):
        if other not in FREEDICT:
            parser.error(f"{other!r} is no code that FreeDict has: {', '.join(sorted(FREEDICT))}")
    if release_class(args.license) == "unstated":
        parser.error(f"--license {args.license!r} is no license known here, such as CC-BY-SA 3.0")
    if args.language in args.others:
        parser.error(f"{args.language} is to be joined to other languages than itself")
    try:
        shelf = Shelf(args.folder, args.says)
        for other in args.others:
            pairs = sorted(set(shelf.pairs(other, args.language, args.most)))
            if not pairs:
                sys.exit(
                    f"{args.folder} has no dictionaries, whose license says {args.says!r}, of "
                    f"{other} and {args.language}, nor of a third language and both"
                )
            path = write_source(
                args.output,
                f"{other}-{args.language}",
                NAME,
                pairs,
                license=args.license,
                domain="words",
            )
            print(f"{path}: {len(pairs):,} pairs")
    except ParaphrasticError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
