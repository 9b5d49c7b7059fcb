"""Join dictionaries through a third language.

`join_dictionaries.py DICTD tr en de fr es --output DIR` writes word pairs to
`DIR/en-tr/wikdict.tsv.xz` and so on, and lists them with their license in `DIR/SOURCES.tsv` for
model cards. DICTD holds FreeDict's `.index` and `.dict.dz` files. Two words are paired if a third
language's dictionaries translate one word to both, such as Swedish to Turkish and to German. Direct
dictionaries are read too. Headwords with more than `--most` translations in a dictionary have too
many senses and are skipped. The license of each dictionary must contain `--says`.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from paraphrastic_hf.corpora.load import find_source
from paraphrastic_hf.corpora.readers.dictionaries import dictionary_pairs, entries
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.hub.source_lists import release_class, write_source

Dictionary = dict[str, list[str]]
CODES: dict[str, str] = find_source("freedict").layout["codes"]
SCRIPTS: dict[str, str] = find_source("freedict").layout["scripts"]
ABOUT_LENGTH = 4096
NAME = "wikdict"


class Shelf:
    """Dictionaries of a folder, by language of the headwords and of the translations."""

    def __init__(self, folder: Path, license: str) -> None:
        code = {three: two for two, three in CODES.items()}
        self.paths: dict[tuple[str, str], Path] = {}
        for path in sorted(folder.rglob("freedict-*.index")):
            languages = path.stem.removeprefix("freedict-").split("-")
            if all(language in code for language in languages) and says(path, license):
                head, other = (code[language] for language in languages)
                self.paths[head, other] = path
        self.known: dict[tuple[str, str], Dictionary] = {}

    def read(self, head: str, other: str) -> Dictionary:
        """Return the translations of each headword. Empty without such a dictionary."""
        if (head, other) not in self.known:
            found: Dictionary = {}
            if (head, other) in self.paths:
                scripts = [SCRIPTS.get(code, "LATIN") for code in (head, other)]
                for _, (word, translation) in dictionary_pairs(self.paths[head, other], scripts):
                    translations = found.setdefault(word, [])
                    if translation not in translations:
                        translations.append(translation)
            self.known[head, other] = found
        return self.known[head, other]

    def pairs(self, first: str, second: str, most: int) -> Iterator[tuple[str, str]]:
        """Yield words that translate each other, or one word of a third language."""
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
    """Return whether the dictionary's description contains `license`."""
    return license in " ".join(entries(path)[:ABOUT_LENGTH].decode("utf-8", "replace").split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "folder", type=Path, metavar="DICTD", help="folder of dictionaries, searched recursively"
    )
    parser.add_argument("language", help="code of the language to join")
    parser.add_argument("others", nargs="+", metavar="OTHER", help="codes of the other languages")
    parser.add_argument(
        "--most", type=int, default=3, help="most translations per word (default: 3)"
    )
    parser.add_argument("--says", default="Attribution-ShareAlike 3.0", help="text in each license")
    parser.add_argument("--license", default="CC-BY-SA 3.0", help="license name for SOURCES.tsv")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="new folder in the data"
    )
    args = parser.parse_args()
    for other in (args.language, *args.others):
        if other not in CODES:
            parser.error(f"{other!r} is not a FreeDict language. Codes: {', '.join(sorted(CODES))}")
    if release_class(args.license) == "unstated":
        parser.error(f"--license {args.license!r} is unknown. Example: CC-BY-SA 3.0")
    if args.language in args.others:
        parser.error(f"{args.language} cannot be joined to itself")
    try:
        shelf = Shelf(args.folder, args.says)
        for other in args.others:
            pairs = sorted(set(shelf.pairs(other, args.language, args.most)))
            if not pairs:
                sys.exit(
                    f"{args.folder} has no dictionaries between {other} and {args.language}, "
                    f"direct or through a third language, with {args.says!r} in the license"
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
