"""Write equally many pairs of three kinds for training.

    equal_pairs.py CORPUS HUMAN --output DIR

`back.tsv` pairs references with their back-translations, `bitext.tsv` the same references with the
translated sentences, and `human.tsv` has human paraphrases. `--apart` writes one file of bitext per
source of the corpus, `bitext-NAME.tsv`. `--bitext en-es/FILE.tsv.xz ...` takes references from
these files and writes `bitext-en-es.tsv`. `--same` takes references from HUMAN, each with one
paraphrase.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import datasets
import numpy as np

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.io.pairs import Pair, read_pairs


def write(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write("\t".join(" ".join(text.split()) for text in pair) + "\n")


def rewordings(human: list[Pair]) -> dict[str, str]:
    """Map each sentence to one human paraphrase, using each pair at most once."""
    found: dict[str, str] = {}
    used = set()
    for pair in human:
        first, second = (" ".join(side.split()) for side in pair)
        for text, other in ((first, second), (second, first)):
            both = frozenset((text, other))
            if text not in found and both not in used:
                found[text] = other
                used.add(both)
    return found


def translations(paths: list[Path]) -> dict[str, tuple[str, str]]:
    """Map each sentence of bitext to a translation and the file for it."""
    found: dict[str, tuple[str, str]] = {}
    for path in paths:
        file = f"bitext-{path.resolve().parent.name}.tsv"
        for first, second in read_pairs(path):
            found.setdefault(" ".join(first.split()), (second, file))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="output folder of `paraphrastic corpus make`")
    parser.add_argument("human", type=Path, help="TSV of paraphrases, plain or .xz")
    parser.add_argument(
        "--count", type=int, default=260_000, help="pairs of each kind (default: 260000)"
    )
    parser.add_argument("--most-overlap", type=float, help="highest trigram overlap, 0 to 1")
    parser.add_argument("--least-score", type=float, help="lowest paraphrase score, -1 to 1")
    parser.add_argument("--apart", action="store_true", help="one file of bitext per source")
    parser.add_argument("--same", action="store_true", help="only references in HUMAN")
    parser.add_argument(
        "--bitext",
        type=Path,
        nargs="+",
        default=[],
        help="TSV files, English first: only references in them",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    random = np.random.default_rng(args.seed)
    if args.apart and args.bitext:
        parser.error("--apart and --bitext exclude each other")
    if not Path(args.corpus).is_dir():
        parser.error(
            f"corpus: {args.corpus} is not a folder. `paraphrastic corpus make` writes one"
        )
    corpus = datasets.load_dataset(args.corpus, split="train")
    human = list(read_pairs(args.human))
    reworded, others = rewordings(human), translations(args.bitext)
    if others:
        corpus = corpus.filter(lambda text: text in others, input_columns="reference")
    if args.same:
        corpus = corpus.filter(lambda text: text in reworded, input_columns="reference")
    if args.most_overlap is not None:
        within = np.asarray(corpus["overlap"]) <= args.most_overlap
        corpus = corpus.select(np.flatnonzero(within))
    if args.least_score is not None:
        within = np.asarray(corpus["paraphrase_score"]) >= args.least_score
        corpus = corpus.select(np.flatnonzero(within))
    for name, rows in (("the corpus", corpus), ("the file of paraphrases", human)):
        if len(rows) < args.count:
            parser.error(f"{name} has {len(rows):,} pairs: lower --count")
    rows = corpus.select(np.sort(random.permutation(len(corpus))[: args.count]))
    references = list(rows["reference"])
    args.output.mkdir(parents=True, exist_ok=True)
    write(args.output / "back.tsv", zip(references, rows["translation"], strict=True))
    sources = [others[text][0] for text in references] if others else list(rows["source"])
    files = [f"bitext-{name}.tsv" if args.apart else "bitext.tsv" for name in rows["corpus"]]
    if others:
        files = [others[text][1] for text in references]
    for file in sorted(set(files)):
        rows_of = [number for number, name in enumerate(files) if name == file]
        write(args.output / file, ((references[n], sources[n]) for n in rows_of))
    kept = np.sort(random.permutation(len(human))[: args.count])
    same = [(text, reworded[text]) for text in references] if args.same else []
    write(args.output / "human.tsv", same or [human[place] for place in kept])


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
