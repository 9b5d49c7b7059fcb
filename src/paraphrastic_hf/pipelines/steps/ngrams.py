"""Steps that compare the words of both sides (thesis, 4.5.4; 2017 paper, 5.7), in numpy.

Words are hashed to 64 bits and n-grams to 47 bits. Two different n-grams collide in about one of
10^11 rows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.pipelines.steps.base import Row, Step, sides

ORDER = 4  # longest n-gram of BLEU
CODE_POINTS = 0x110000
AT_A_TIME = 1 << 11  # rows of a block. At most 2 ** 16: a key has 16 bits for the row's index
LONGEST = 1 << 20  # maximum characters of a block with several texts
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIX = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True)
class Words:
    """Hashed words of many texts: runs of letters and digits, and single marks, in lower case."""

    hashes: np.ndarray  # (words,) uint64, equal for equal words
    offsets: np.ndarray  # start of each text in `hashes`, and the last end, (texts + 1,) int64

    @property
    def lengths(self) -> np.ndarray:
        """Number of words of each text, (texts,)."""
        return np.diff(self.offsets)


def hash_words(texts: Sequence[str]) -> Words:
    """Hash the words of texts, split as in `text.overlap.word_ngrams`."""
    lowered = [text.lower() for text in texts]
    places = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) + 1 for text in lowered], out=places[1:])
    joined = "\n".join(lowered).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, np.uint32)
    kinds, salts = _tables()
    kind = kinds[codes]
    is_letter = kind == 1
    begins = kind > 0
    begins[1:] &= ~(is_letter[1:] & is_letter[:-1])
    starts = np.flatnonzero(begins)
    if not len(starts):
        return Words(np.empty(0, np.uint64), np.zeros(len(texts) + 1, np.int64))
    powers, inverses = _powers(1 << max(16, (len(codes) - 1).bit_length()))
    sums = np.add.reduceat(salts[codes] * powers[: len(codes)], starts)
    return Words(sums * inverses[starts], np.searchsorted(starts, places))


def ngram_keys(words: Words, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the 47-bit hash of each n-gram, and the index of its text (at most 65,536 texts)."""
    text = np.repeat(np.arange(len(words.offsets) - 1), words.lengths)
    count = max(len(text) - n + 1, 0)
    is_one = text[:count] == text[n - 1 :][:count]
    mixed = np.zeros(count, np.uint64)
    for k in range(n):
        mixed = (mixed + words.hashes[k : k + count]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return (mixed[is_one] * _MIX) >> np.uint64(17), text[:count][is_one]


def shared_ngrams(first: Words, second: Words, n: int) -> tuple[np.ndarray, ...]:
    """Count shared n-grams, n-grams of the first and n-grams of the second text of each pair.

    The three arrays are (pairs,) int64, for at most 65,536 pairs. A repeated n-gram is shared as
    often as both texts have it.
    """
    keys = []
    for is_second, words in enumerate((first, second)):
        ngrams, text = ngram_keys(words, n)
        keys.append(text.astype(np.uint64) << np.uint64(48) | ngrams << np.uint64(1))
        keys[-1] |= np.uint64(is_second)
    both = np.sort(np.concatenate(keys))
    total = [np.maximum(words.lengths - n + 1, 0) for words in (first, second)]
    if not len(both):
        return np.zeros(len(total[0]), np.int64), *total
    ngrams = both >> np.uint64(1)
    starts = np.flatnonzero(np.concatenate([[True], ngrams[1:] != ngrams[:-1]]))
    of_second = np.add.reduceat((both & np.uint64(1)).astype(np.int64), starts)
    of_first = np.diff(starts, append=len(both)) - of_second
    text = (both[starts] >> np.uint64(48)).astype(np.int64)
    shared = np.bincount(text, np.minimum(of_first, of_second), minlength=len(total[0]))
    return shared.astype(np.int64), *total


def blocks(*columns: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and end of blocks of texts that are small enough to hash in one call."""
    lengths = np.sum([[len(text) for text in column] for column in columns], axis=0)
    found, start, size = [], 0, 0
    for place, length in enumerate(lengths):
        if place > start and (place - start == AT_A_TIME or size + length > LONGEST):
            found.append((start, place))
            start, size = place, 0
        size += length
    return [*found, (start, len(lengths))] if len(lengths) else []


@cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Return the kind of every character (1: letter or digit, 2: mark), and a random number."""
    every = "".join(map(chr, range(CODE_POINTS)))
    kinds = np.full(CODE_POINTS, 2, np.uint8)
    for kind, pattern in ((1, r"\w+"), (0, r"\s+")):
        for run in re.finditer(pattern, every):
            kinds[run.start() : run.end()] = kind
    salts = np.random.default_rng(_BASE).integers(0, 2**64, CODE_POINTS, np.uint64)
    salts[kinds == 0] = 0
    return kinds, salts


@cache
def _powers(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return powers of the hash's base, and of the base's inverse modulo 2 ** 64, (count,) each."""
    tables = []
    for base in (_BASE, _INVERSE):
        factors = np.full(count, base, np.uint64)
        factors[0] = 1
        tables.append(np.cumprod(factors))
    return tables[0], tables[1]


@dataclass(frozen=True, kw_only=True)
class NgramOverlap(Step):
    """Shared n-grams divided by the n-grams of the side with fewer (0 / 0 counts as 0).

    The thesis uses trigrams, the 2017 paper n-grams of 1 to 3 words.
    """

    n: int = argument(3, help="words per n-gram", at_least=1, at_most=9)

    measure = "{n}-gram overlap"

    @property
    def name(self) -> str:
        return "overlap" if self.n == 3 else f"overlap_{self.n}"

    def score(self, rows: Sequence[Row]) -> list[float]:
        return _by_blocks(rows, self._overlap)

    def _overlap(self, first: Words, second: Words) -> np.ndarray:
        shared, *total = shared_ngrams(first, second, self.n)
        fewest = np.minimum(*total)
        return np.where(fewest > 0, shared / np.maximum(fewest, 1), 0.0)


@dataclass(frozen=True, kw_only=True)
class SentenceBleu(Step):
    """BLEU with 1 added to n-gram counts and the reference's length (Nakov et al., 2012), so that a
    long copy scores higher than a short copy.
    """

    pattern = "bleu"
    measure = "smoothed sentence BLEU"

    def score(self, rows: Sequence[Row]) -> list[float]:
        return _by_blocks(rows, _bleu)


def _bleu(reference: Words, translation: Words) -> np.ndarray:
    logarithms = np.zeros(len(reference.lengths))
    for n in range(1, ORDER + 1):
        shared, _, there = shared_ngrams(reference, translation, n)
        logarithms += np.log((shared + 1) / (there + 1))
    longer = (reference.lengths + 1) / np.maximum(translation.lengths, 1)
    return np.exp(logarithms / ORDER + np.minimum(0.0, 1 - longer))


def _by_blocks(rows: Sequence[Row], score: Callable[[Words, Words], np.ndarray]) -> list[float]:
    first, second = sides(rows)
    found: list[float] = []
    for start, end in blocks(first, second):
        words = (hash_words(side[start:end]) for side in (first, second))
        found += score(*words).tolist()
    return found
