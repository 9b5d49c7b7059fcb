"""Write the distinct English sentences of 4 to 25 words of the data folder, shuffled with seed 1.

    english_lines.py DATA --output lines.txt

Reads all open and share-alike sources but `ppdb_xl_lexical`, which has single words.
"""

import argparse
import csv
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

LEAST_WORDS, MOST_WORDS = 4, 25
LEAST_LETTERS = 0.6  # of all characters of a line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the data folder")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    first_spelling: dict[str, str] = {}
    for text in english(given.data / "train"):
        if is_fit(text):
            first_spelling.setdefault(text.lower(), text)
    lines = list(first_spelling.values())
    random.Random(1).shuffle(lines)
    given.output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines):,} lines")


def english(train: Path) -> Iterator[str]:
    """Yield the English side of bitext, and both sides of English pairs."""
    with (train / "SOURCES.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["release"] in ("open", "share-alike") and row["source"] != "ppdb_xl_lexical":
                path = train / row["pair"] / f"{row['source']}.tsv.xz"
                sides = 2 if row["pair"] == "en-en" else 1
                with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
                    for line in lines:
                        for text in line.rstrip("\n").split("\t")[:sides]:
                            yield " ".join(text.split())


def is_fit(text: str) -> bool:
    letters = sum(character.isalpha() for character in text)
    return LEAST_WORDS <= len(text.split()) <= MOST_WORDS and letters > LEAST_LETTERS * len(text)


if __name__ == "__main__":
    main()
