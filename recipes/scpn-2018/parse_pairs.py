"""Makes rows of sentence1, sentence2, tree1, tree2 from sentence pairs (thesis 6.2.2).

Parses a sample of the pairs, like `paraphrastic parse --pairs`, and holds some out:

    python recipes/scpn-2018/parse_pairs.py DATA/train/en-en/coco_val2017_captions.tsv.xz \\
        --parser runs/parser --most 30000 --held-out 500 --output parsed-pairs.tsv

Drops pairs of equal sentences, of too short, too long or dissimilar ones (--min-similarity), and of
equal parses. Held-out pairs share no sentence with the others.
"""

import argparse
import csv
import gzip
import io
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm.auto import tqdm

from paraphrastic_hf import SentenceEncoder, SentenceParser
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.pipelines.parsed_pairs import PairParser
from paraphrastic_hf.syntax.parsed import LineParser, ParsedLine

AT_A_TIME = 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "files", nargs="+", help="sentence pairs: TSV, or CSV with columns source and target"
    )
    parser.add_argument("--parser", required=True, help="as MODEL of `paraphrastic parse`")
    parser.add_argument("--output", type=Path, default=Path("parsed-pairs.tsv"))
    parser.add_argument("--most", type=int, help="parse at most MOST pairs, drawn at random")
    parser.add_argument(
        "--held-out", type=int, default=0, help="pairs for OUTPUT.held-out.tsv (default: 0)"
    )
    parser.add_argument("--max-words", type=int, default=25, help="per side (default: 25)")
    parser.add_argument("--min-words", type=int, default=3, help="per side (default: 3)")
    parser.add_argument("--min-similarity", type=float, help="lowest cosine by `english`, 0 to 1")
    parser.add_argument(
        "--unseen",
        nargs="*",
        default=[],
        help="files of pairs whose sentences are excluded, ignoring case",
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    met = {side.lower() for file in given.unseen for pair in sentence_pairs(file) for side in pair}
    pairs = [
        pair
        for file in given.files
        for pair in sentence_pairs(file)
        if pair[0].lower() != pair[1].lower()
        and not any(side.lower() in met for side in pair)
        and all(given.min_words <= len(side.split()) <= given.max_words for side in pair)
    ]
    if given.min_similarity is not None:
        pairs = similar(pairs, given.min_similarity)
    random.Random(given.seed).shuffle(pairs)
    pairs = pairs[: given.most]
    rows = list(PairParser(Shown(SentenceParser.from_pretrained(given.parser))).rows(pairs))
    held_out, kept = rows[: given.held_out], rows[given.held_out :]
    seen = {text for row in held_out for text in row[:2]}
    kept = [row for row in kept if not seen & set(row[:2])]
    write(given.output, kept)
    if held_out:
        write(given.output.with_suffix(".held-out.tsv"), held_out)
    print(f"{len(kept):,} pairs and {len(held_out):,} held out, of {len(pairs):,}")


def sentence_pairs(file: str) -> Iterable[tuple[str, str]]:
    """Read pairs of a TSV file, or of a CSV file of data/eval/paraphrase_generation."""
    if ".csv" not in Path(file).suffixes:
        return read_pairs(file)
    raw = Path(file).read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode("utf-8")
    return [(row["source"], row["target"]) for row in csv.DictReader(io.StringIO(text))]


def similar(pairs: list[tuple[str, str]], least: float) -> list[tuple[str, str]]:
    encoder = SentenceEncoder.from_pretrained()
    cosines = encoder.similarity_pairwise([a for a, _ in pairs], [b for _, b in pairs])
    return [pair for pair, cosine in zip(pairs, cosines, strict=True) if cosine >= least]


class Shown:
    """Parser with a progress bar."""

    def __init__(self, parser: LineParser) -> None:
        self.parser = parser

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        starts = tqdm(range(0, len(lines), AT_A_TIME), desc="parsing")
        blocks = (self.parser.parse(lines[start : start + AT_A_TIME]) for start in starts)
        return [each for block in blocks for each in block]


def write(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
