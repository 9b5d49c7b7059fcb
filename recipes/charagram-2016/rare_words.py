"""Scores RW (rare words) by whether the training pairs contain the words.

    python recipes/charagram-2016/rare_words.py runs/charagram --data DATA

Spearman's rho x 100 over pairs with both, one or no word in training, without training pairs, and
with cosine 0 for pairs with a word unknown to training.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows
from paraphrastic_hf.io.lines import raw_lines

PAIRS = "train/en-en/ppdb_xl_lexical.tsv.xz"
RESAMPLES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    rows = corpus_rows(arguments.data / "eval", "wordsim", "rw")
    first, second = ([row[side].lower() for row in rows] for side in ("sentence1", "sentence2"))
    gold = np.array([row["score"] for row in rows])
    lines = (raw.decode("utf-8") for _, raw in raw_lines(arguments.data / PAIRS))
    seen = {frozenset(line.rstrip("\n").split("\t")[:2]) for line in lines}
    words = frozenset().union(*seen)
    known = np.array([(a in words) + (b in words) for a, b in zip(first, second, strict=True)])
    is_own = np.array([frozenset(pair) in seen for pair in zip(first, second, strict=True)])
    overlap = np.array([common_ngrams(*pair) for pair in zip(first, second, strict=True)])
    print(f"common n-grams alone: {rho(overlap, gold):.1f} of {len(gold):,} pairs")
    for name in arguments.models:
        cosines = SentenceEncoder.from_pretrained(name).similarity_pairwise(first, second)
        low, high = interval(cosines, gold)
        print(f"{name}: {rho(cosines, gold):.1f} ({low:.1f} to {high:.1f})")
        for count, said in ((2, "both words"), (1, "one word"), (0, "no word")):
            part = known == count
            print(f"  {said} in training: {rho(cosines[part], gold[part]):.1f} of {part.sum():,}")
        part = ~is_own
        print(f"  without training pairs: {rho(cosines[part], gold[part]):.1f} of {part.sum():,}")
        zeroed = np.where(known == 2, cosines, 0)
        print(f"  cosine 0 where a word is not in training: {rho(zeroed, gold):.1f}")


def rho(scores: np.ndarray, gold: np.ndarray) -> float:
    return 100 * float(spearmanr(scores, gold)[0])


def interval(scores: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of rho."""
    random = np.random.default_rng(1)
    draws = (random.integers(0, len(gold), len(gold)) for _ in range(RESAMPLES))
    low, high = np.percentile([rho(scores[draw], gold[draw]) for draw in draws], [2.5, 97.5])
    return float(low), float(high)


def common_ngrams(first: str, second: str) -> float:
    """Return the Jaccard index of the words' character n-grams, n = 2 to 4."""
    one, other = (
        {word[i : i + n] for n in (2, 3, 4) for i in range(len(word) - n + 1)}
        for word in (f" {first} ", f" {second} ")
    )
    return len(one & other) / len(one | other)


if __name__ == "__main__":
    main()
