"""Splits bitext into a test set and text for likelihood and minimum risk training (thesis 7.4).

    python recipes/beyond-bleu-2019/split.py DATA/train/en-es/tatoeba.tsv.xz --output split-es

The first column is the target language. Writes `test.src`, `test.ref`, `likelihood.tsv` and
`risk.tsv`. Each source sentence, ignoring case, goes to one of them by its hash, so every call
splits in the same way.
"""

import argparse
import hashlib
import lzma
import sys
from pathlib import Path

from paraphrastic_hf.errors import ParaphrasticError


def place(source: str) -> float:
    """Return the sentence's hash as a number from 0 to 1."""
    digest = hashlib.sha256(source.casefold().strip().encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bitext", type=Path, help=".tsv or .tsv.xz file of two columns")
    parser.add_argument("--output", type=Path, required=True, help="output folder")
    parser.add_argument("--test", type=int, default=2000, help="test sentences (default: 2000)")
    parser.add_argument(
        "--risk",
        type=float,
        default=0.2,
        help="share of the rest for minimum risk, 0 to 1 (default: 0.2)",
    )
    options = parser.parse_args()

    opened = lzma.open if options.bitext.suffix == ".xz" else open
    with opened(options.bitext, "rt", encoding="utf-8", newline="\n") as lines:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in lines]
    places = {source: place(source) for _, source in pairs}
    different = sorted(set(places.values()))
    if not 0 < options.test < len(different):
        parser.error(f"--test must be from 1 to {len(different) - 1:,}, got {options.test}")
    border = different[options.test - 1]

    options.output.mkdir(parents=True, exist_ok=True)
    tested: dict[float, list[str]] = {}
    rows: dict[str, list[list[str]]] = {"likelihood": [], "risk": []}
    for pair in pairs:
        where = places[pair[1]]
        if where <= border:
            tested.setdefault(where, pair)  # the first translation is the reference
        else:
            of_risk = (where - border) / (1 - border) < options.risk
            rows["risk" if of_risk else "likelihood"].append(pair)
    for name, column in (("test.ref", 0), ("test.src", 1)):
        text = "".join(f"{pair[column]}\n" for pair in tested.values())
        (options.output / name).write_text(text, encoding="utf-8", newline="\n")
    for name, kept in rows.items():
        text = "".join("\t".join(pair) + "\n" for pair in kept)
        (options.output / f"{name}.tsv").write_text(text, encoding="utf-8", newline="\n")
    counts = {"to test": tested, "for likelihood": rows["likelihood"], "for risk": rows["risk"]}
    print(", ".join(f"{len(kept)} {what}" for what, kept in counts.items()))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
