"""Find word translations with a multilingual teacher.

`mine_words.py module:function en ar:180000 tr --output DIR` writes word pairs to
`DIR/en-ar/words.tsv.xz` and so on, and lists them with their license in `DIR/SOURCES.tsv` for model
cards. Words are the most frequent of the package wordfreq (`pip install wordfreq`, CC-BY-SA 4.0).
The teacher encodes both languages. A pair is kept if it is the best for one of its words, its
cosine is at least `--cosine`, and its margin score (as in `paraphrastic mine`) at least `--score`.
Dropped are words of the first language absent from the `--seen` text (names, fragments), and pairs
with similar spelling, which a subword teacher takes for similar meaning. `--work` caches vectors,
so a second call resumes.
"""

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
    """Return the most frequent words, without Latin ones if most are in another script."""
    from wordfreq import top_n_list

    words = [word for word in top_n_list(language, count) if WORD.fullmatch(word)]
    latin = {word for word in words if unicodedata.name(word[0], "").startswith("LATIN")}
    return words if 2 * len(latin) > len(words) else [w for w in words if w not in latin]


def words_seen(paths: Sequence[Path], least: int) -> set[str]:
    """Return lower-case words that occur at least `least` times in the first columns."""
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
    """Return the kept pairs, best first.

    Args:
        first: Words.
        second: Words of the other language.
        vectors: Unit vectors of both, (words, dim).
        score: Least ratio of the cosine to the mean cosine of both words to their four nearest.
        cosine: Least cosine.
        alike: Highest share of common letters, 0 to 1.
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
    """Split `ar:180000` into language and count (default: 60,000)."""
    language, _, count = text.partition(":")
    return language, int(count or 60_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("teacher", help="module:function, or a model's directory or name")
    parser.add_argument("language", help="code of the first language")
    parser.add_argument(
        "others",
        nargs="+",
        metavar="OTHER[:COUNT]",
        help="code of another language, and its number of words (default: 60000)",
    )
    parser.add_argument(
        "--words", type=int, default=40_000, help="words of the first language (default: 40000)"
    )
    parser.add_argument(
        "--seen",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="text or TSV with the first language in column 1: words outside it are dropped",
    )
    parser.add_argument(
        "--least", type=int, default=5, help="least count of a word in --seen (default: 5)"
    )
    parser.add_argument(
        "--score", type=float, default=0.98, help="lowest margin score (default: 0.98)"
    )
    parser.add_argument("--cosine", type=float, default=0.78, help="lowest cosine (default: 0.78)")
    parser.add_argument(
        "--alike",
        type=float,
        default=0.6,
        help="highest share of common letters, 0 to 1 (default: 0.6)",
    )
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="cache of vectors")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="new folder in the data"
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
