"""Accuracy and speed of sentence alignment on documents whose gold groups are made by rule.

Documents are parallel news in their order. A share of the sentences is dropped on one side, and
others are joined with the next one or two. F1 counts groups that equal a gold group. `laws` is one
long document for speed. Gale-Church (NLTK) aligns by length in quadratic time, so it only gets
`--peer-sentences`.

Quick test: --sentences 100 --long 200 --peer-sentences 50
"""

import lzma
import random
from pathlib import Path
from typing import NamedTuple

from common.report import Table, options, save, settings
from common.timing import timed
from nltk.translate.gale_church import align_blocks

from paraphrastic_hf import SentenceEncoder, align

NEWS = ("de", "ru", "zh", "cs")
Gold = set[tuple[int, int, int, int]]  # starts and sizes: source, its size, target, its size


class Document(NamedTuple):
    source: list[str]
    target: list[str]
    gold: Gold


def read_pairs(path: Path, most: int) -> list[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    pairs = [(a.strip(), b.strip()) for a, b in rows]
    return [pair for pair in dict.fromkeys(pairs) if all(pair)][:most]


def make_document(pairs: list[tuple[str, str]], seed: int) -> Document:
    """Drop and join sentences of a parallel text at random."""
    chance, made = random.Random(seed), Document([], [], set())
    rest = list(pairs)
    while rest:
        (first, second), drawn = rest.pop(0), chance.random()
        if drawn < 0.05:
            made.source.append(first)
            continue
        if drawn < 0.10:
            made.target.append(second)
            continue
        more = 2 if drawn < 0.12 else 1 if drawn < 0.26 else 0
        group = [(first, second), *(rest.pop(0) for _ in range(min(more, len(rest))))]
        sides = [[pair[side] for pair in group] for side in range(2)]
        joined = chance.randrange(2)
        sides[joined] = [" ".join(sides[joined])]
        made.gold.add((len(made.source), len(sides[0]), len(made.target), len(sides[1])))
        made.source.extend(sides[0])
        made.target.extend(sides[1])
    return made


def f1(found: Gold, gold: Gold) -> float:
    return 200 * len(found & gold) / (len(found) + len(gold))


def by_length(document: Document) -> Gold:
    """Align by length. Links that share a sentence form a group."""
    links = align_blocks(*([len(text) for text in side] for side in document[:2]))
    groups: list[tuple[set[int], set[int]]] = []
    for i, j in sorted(links):
        if groups and (i in groups[-1][0] or j in groups[-1][1]):
            groups[-1][0].add(i)
            groups[-1][1].add(j)
        else:
            groups.append(({i}, {j}))
    return {(min(a), len(a), min(b), len(b)) for a, b in groups}


def main() -> None:
    parser = options(__doc__, threads=2, data=True)
    parser.add_argument("--sentences", type=int, default=3000, help="pairs of each news document")
    parser.add_argument("--long", type=int, default=100_000, help="pairs of the long document")
    parser.add_argument("--peer-sentences", type=int, default=500, help="pairs for Gale-Church")
    args = parser.parse_args()
    encoder = SentenceEncoder.from_pretrained("multilingual", num_threads=args.threads)
    rows: dict[str, dict[str, float]] = {}

    def measure(name: str, document: Document) -> None:
        seconds, groups = timed(lambda: align(document.source, document.target, encoder))
        found = {(a.start, len(a), b.start, len(b)) for a, b, _ in groups if a and b}
        rows[name] = {
            "source": len(document.source),
            "target": len(document.target),
            "F1": f1(found, document.gold),
            "sentences/s": len(document.source) / seconds,
        }
        print(name, rows[name], flush=True)

    train = Path(args.data) / "train"
    for code in NEWS:
        pairs = read_pairs(train / f"en-{code}" / "wmt21_23_refs.tsv.xz", args.sentences)
        measure(f"news, en-{code}", make_document(pairs, 2))
        peer = make_document(pairs[: args.peer_sentences], 2)
        measure(f"news, en-{code}, first {args.peer_sentences}", peer)
        seconds, found = timed(lambda peer=peer: by_length(peer))
        rows[f"news, en-{code}, first {args.peer_sentences}, Gale-Church"] = {
            "source": len(peer.source),
            "target": len(peer.target),
            "F1": f1(found, peer.gold),
            "sentences/s": len(peer.source) / seconds,
        }
    laws = read_pairs(train / "en-fr" / "canada_laws.tsv.xz", args.long)
    measure("laws, en-fr", make_document(laws, 3))
    results = {"settings": settings(args, "nltk"), "runs": rows}
    save(args, results, Table("alignment", rows, ",.4g"))


if __name__ == "__main__":
    main()
