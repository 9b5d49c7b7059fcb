"""Words of two languages that mean the same, found by a teacher that reads both:
`mine_words.py module:function en ar:180000 tr --output DIR` writes `DIR/en-ar/words.tsv.xz` and so
on, and lists them with their license in `DIR/SOURCES.tsv`, where model cards look for it.

The words are the most frequent ones of the package wordfreq (`pip install wordfreq`; CC-BY-SA 4.0).
A pair is kept if it is the best for one of its words, and the cosine of the teacher's vectors is
high both in itself and beside that of other words near either (`paraphrastic mine` has the same
score). Left out are words of the first language that the text of `--seen` does not have, since
names and scraps of words are near everything, and pairs that are spelled much alike, since a
teacher of pieces of words takes spelling for meaning there.

Vectors are kept in `--work`, so that the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.hub.source_lists import write_source
from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.mining.bitext import mine
from paraphrastic_hf.training.distillation.recipe import TeacherArguments
from paraphrastic_hf.training.distillation.teacher import load_teacher, teacher_vectors

NAME, LICENSE = "words", "CC-BY-SA 4.0"
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def frequent(language: str, count: int) -> list[str]:
    """The most frequent words of a language, without Latin ones if most are of other letters."""
    from wordfreq import top_n_list

    words = [word for word in top_n_list(language, count) if WORD.fullmatch(word)]
    latin = {word for word in words if unicodedata.name(word[0], "").startswith("LATIN")}
    return words if 2 * len(latin) > len(words) else [w for w in words if w not in latin]


def words_seen(paths: Sequence[Path], least: int) -> set[str]:
    """Words that the first columns of some files have so many times, in lower case."""
    counts: Counter[str] = Counter()
    for path in paths:
        for _, line in text_lines(path):
            counts.update(WORD.findall(line.split("\t", 1)[0].lower()))
    return {word for word, count in counts.items() if count >= least}


def word_pairs(
    first: Sequence[str],
    second: Sequence[str],
    vectors: tuple[np.ndarray, np.ndarray],
    *,
    score: float,
    cosine: float,
    alike: float,
) -> list[tuple[str, str]]:
    """The pairs that are kept, the best first.

    Args:
        first: Words.
        second: Words of the other language.
        vectors: Unit vectors of both, (words, dim).
        score: Least cosine over the mean cosine of both words to the four nearest.
        cosine: Least cosine.
        alike: Most of their letters that the words share, 0 to 1.
    """
    one, other = (each.astype(np.float32) for each in vectors)
    found = mine(one, other, one_to_one=False, threshold=score)
    cosines = np.einsum("ij,ij->i", one[found.source], other[found.target])
    pairs = [
        (first[a], second[b])
        for a, b, how_near in zip(found.source, found.target, cosines, strict=True)
        if how_near >= cosine
    ]
    return [pair for pair in pairs if difflib.SequenceMatcher(None, *pair).ratio() <= alike]


def language_and_count(text: str) -> tuple[str, int]:
    """`ar:180000` taken apart; 60,000 words if no number is said."""
    language, _, count = text.partition(":")
    return language, int(count or 60_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("teacher", help="module:function, or a model by its directory or name")
    parser.add_argument("language", help="code of the first language")
    parser.add_argument(
        "others",
        nargs="+",
        metavar="OTHER[:COUNT]",
        help="code of another language, and how many of its words are read (60,000)",
    )
    parser.add_argument("--words", type=int, default=40_000, help="words of the first language")
    parser.add_argument(
        "--seen",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="text or TSV whose first column is in the first language: other words are left out",
    )
    parser.add_argument("--least", type=int, default=5, help="times that these have a word")
    parser.add_argument("--score", type=float, default=0.98, help="least score (0.98)")
    parser.add_argument("--cosine", type=float, default=0.78, help="least cosine (0.78)")
    parser.add_argument(
        "--alike", type=float, default=0.6, help="most letters that words may share (0.6 of them)"
    )
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="keeps the vectors")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="a folder directly in the data"
    )
    args = parser.parse_args()
    engine = "python" if ":" in args.teacher else "torch"
    teacher = TeacherArguments(model=args.teacher, engine=engine)

    def read(language: str, words: list[str]) -> np.ndarray:
        print(f"{language}: {len(words):,} words")
        return teacher_vectors(
            words,
            teacher,
            lambda: load_teacher(teacher, None, args.work),
            args.work / f"{language}-{len(words)}",
            progress=True,
        )

    try:
        first = frequent(args.language, args.words)
        if args.seen:
            seen = words_seen(args.seen, args.least)
            first = [word for word in first if word in seen]
        vectors = read(args.language, first)
        for language, count in map(language_and_count, args.others):
            second = frequent(language, count)
            pairs = word_pairs(
                first,
                second,
                (vectors, read(language, second)),
                score=args.score,
                cosine=args.cosine,
                alike=args.alike,
            )
            path = write_source(
                args.output,
                f"{args.language}-{language}",
                NAME,
                pairs,
                license=LICENSE,
                domain="words",
            )
            print(f"{path}: {len(pairs):,} pairs")
    except ParaphrasticError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
