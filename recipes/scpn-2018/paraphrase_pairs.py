"""Join translations there and back, people's paraphrases and moved phrases to training pairs.

    paraphrase_pairs.py --lines lines.txt --trees trees.txt --back back.txt \\
        --back-trees back-trees.txt --people FILE ... --output pairs.tsv

TREES and BACK_TREES have the parses of LINES and BACK. A line of BACK is the line, translated to
another language and back, or empty. A row has source, target and the target's template. Targets are
lines: people wrote them. Sources are their back-translation, other people's paraphrases, and
sentences with a moved phrase (`move_phrases.py`). Pairs need a cosine of 0.75 by `english` and
different templates, or the model learns to ignore the template.
"""

import argparse
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from move_phrases import moved

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import template
from paraphrastic_hf.text.overlap import ngram_overlap

LEAST_COSINE, MOST_OVERLAP = 0.75, 0.8  # the overlap of trigrams is of back-translations
LEAST_WORDS, MOST_WORDS = 4, 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("lines", "trees", "back", "back-trees", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--people", nargs="*", default=[], help="files of sentence pairs")
    given = parser.parse_args()
    lines, trees, back, back_trees = (
        path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for path in (given.lines, given.trees, given.back, given.back_trees)
    )
    templates = {}
    for text, tree in zip([*lines, *back], [*trees, *back_trees], strict=True):
        with suppress(DataError):  # no parse
            templates[text.lower()] = str(template(checked_tree(tree)))
    pairs = [
        pair for pair in zip(back, lines, strict=True) if ngram_overlap(*pair, 3) <= MOST_OVERLAP
    ]
    pairs += people(given.people)
    rows = [row for row in with_templates(pairs, templates) if is_fit(*row[:2])]
    for line, tree in zip(lines, trees, strict=True):
        for first, second, *both in moved(line, tree):
            rows += [(first, second, both[1]), (second, first, both[0])]
    rows = list(dict.fromkeys(rows))
    cosines = SentenceEncoder.from_pretrained().similarity_pairwise(
        [row[0] for row in rows], [row[1] for row in rows]
    )
    kept = [row for row, cosine in zip(rows, cosines, strict=True) if cosine >= LEAST_COSINE]
    random.Random(1).shuffle(kept)
    given.output.write_text("".join("\t".join(row) + "\n" for row in kept), encoding="utf-8")
    print(f"{len(kept):,} pairs of {len(rows):,}")


def people(files: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each pair of some files in both directions."""
    for file in files:
        for pair in read_pairs(file):
            yield pair
            yield pair[::-1]


def with_templates(
    pairs: list[tuple[str, str]], templates: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the pairs with different templates, with the target's template."""
    for source, target in pairs:
        own, wanted = templates.get(source.lower()), templates.get(target.lower())
        if own and wanted and own != wanted:
            yield source, target, wanted


def is_fit(source: str, target: str) -> bool:
    sizes = sorted((len(source.split()), len(target.split())))
    return (
        sizes[0] >= LEAST_WORDS
        and sizes[1] <= min(MOST_WORDS, 2 * sizes[0])
        and source.lower() != target.lower()
    )


if __name__ == "__main__":
    main()
