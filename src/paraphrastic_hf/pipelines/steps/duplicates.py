"""Steps that leave out duplicates, exact or near (MinHash; Broder, 1997).

A step remembers the rows it has scored, so it serves only one pass over rows in order. `corpus
make` finds all exact duplicates, because rows that are equal in the `dealing_side` go to the same
task. Near duplicates are found only within a task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION, Row, Step, column
from paraphrastic_hf.pipelines.steps.ngrams import blocks, hash_words, ngram_keys

PAIR = "pair"
COMPARED = (PAIR, REFERENCE, TRANSLATION, SOURCE)


class Seen:
    """Map from keys to first rows. It takes 12 bytes per key (a Python set: about 70)."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []  # each sorted, the largest first

    def add(self, keys: np.ndarray, first: int) -> np.ndarray:
        """Return the index of the first earlier row with an equal key, or -1, (rows,) int64.
        `keys`, (rows,) uint64, are of consecutive rows from index `first` on.
        """
        unique, at, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found = np.full(len(unique), -1, np.int64)
        for known, rows in self._parts:
            places = np.minimum(np.searchsorted(known, unique), len(known) - 1)
            is_there = known[places] == unique
            found[is_there] = rows[places[is_there]]
        is_new = found < 0
        if is_new.any():
            self._keep(unique[is_new], (at[is_new] + first).astype(np.uint32))
        before = np.where(found < 0, at + first, found)[inverse]
        return np.where(before == np.arange(first, first + len(keys)), -1, before)

    def _keep(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Merge arrays so that each has at most half the size of the array before it."""
        while self._parts and len(self._parts[-1][0]) < 2 * len(keys):
            other, other_rows = self._parts.pop()
            keys, rows = np.concatenate([other, keys]), np.concatenate([other_rows, rows])
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], rows[order]
        self._parts.append((keys, rows))


@dataclass
class _Memory:
    keys: list[Seen]
    rows: int = 0
    signatures: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Duplicates(Step):
    """Whether a text was seen before: 0 at the first occurrence, then 1."""

    at_most: float | None = argument(0.0, help="highest score of rows to keep")
    of: str = argument(PAIR, help="text to compare: one side, or both together", choices=COMPARED)

    @cached_property
    def _memory(self) -> _Memory:
        return _Memory([Seen()])

    measure = "the same {of} before"

    @property
    def name(self) -> str:
        return "duplicate" if self.of == PAIR else f"duplicate_{self.of}"

    def score(self, rows: Sequence[Row]) -> list[int]:
        keys = np.frombuffer(
            b"".join(
                blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                for text in _texts(rows, self.of)
            ),
            np.uint64,
        )
        before = self._memory.keys[0].add(keys, self._memory.rows)
        self._memory.rows += len(keys)
        return (before >= 0).astype(int).tolist()


@dataclass(frozen=True, kw_only=True)
class NearDuplicates(Step):
    """Jaccard index of the word n-grams of a text and the most similar earlier text (MinHash).

    Two texts are compared if they agree on all hashes of a band. For texts of similarity s this has
    probability 1 - (1 - s^hashes)^bands: 0.4 for s = 0.5 and 0.98 for s = 0.8 by default. Texts of
    fewer than `n` words are compared by single words. The score is 0 without a text to compare.
    """

    at_most: float | None = argument(0.8, help="highest score of rows to keep")
    of: str = argument(PAIR, help="text to compare: one side, or both together", choices=COMPARED)
    n: int = argument(2, help="words per n-gram", at_least=1, at_most=9)
    bands: int = argument(8, help="number of bands of MinHash", at_least=1, at_most=64)
    hashes: int = argument(4, help="number of hashes per band", at_least=1, at_most=64)
    seed: int = argument(1, help="seed of the hash functions", at_least=0)

    @cached_property
    def _memory(self) -> _Memory:
        return _Memory([Seen() for _ in range(self.bands)])

    measure = "similarity to a {of} before"

    @property
    def name(self) -> str:
        return "near_duplicate" if self.of == PAIR else f"near_duplicate_{self.of}"

    def score(self, rows: Sequence[Row]) -> list[float]:
        texts = _texts(rows, self.of)
        found: list[float] = []
        for start, end in blocks(texts):
            found += self._score_signatures(self._signatures(texts[start:end])).tolist()
        return found

    def _signatures(self, texts: Sequence[str]) -> np.ndarray:
        """Return each text's minimum under each hash function, (texts, bands * hashes) uint32."""
        words = hash_words(texts)
        keys, text = ngram_keys(words, self.n)
        if self.n > 1:
            short, of_short = ngram_keys(words, 1)
            is_short = words.lengths[of_short] < self.n
            keys = np.concatenate([keys, short[is_short]])
            text = np.concatenate([text, of_short[is_short]])
            order = np.argsort(text, kind="stable")
            keys, text = keys[order], text[order]
        functions = np.random.default_rng(self.seed).integers(
            0, 2**64, (2, self.bands * self.hashes), np.uint64
        )
        signatures = np.zeros((len(texts), self.bands * self.hashes), np.uint32)
        if len(keys):
            starts = np.flatnonzero(np.concatenate([[True], text[1:] != text[:-1]]))
            for number, (factor, offset) in enumerate(functions.T):
                hashed = ((keys * (factor | np.uint64(1)) + offset) >> np.uint64(32)).astype(
                    np.uint32
                )
                signatures[text[starts], number] = np.minimum.reduceat(hashed, starts)
        return signatures

    def _score_signatures(self, signatures: np.ndarray) -> np.ndarray:
        memory = self._memory
        first = memory.rows
        memory.signatures.append(signatures)
        memory.rows += len(signatures)
        best = np.zeros(len(signatures))
        factors = np.random.default_rng(self.seed + 1).integers(0, 2**63, self.hashes, np.uint64)
        for band in range(self.bands):
            own = signatures[:, band * self.hashes : (band + 1) * self.hashes].astype(np.uint64)
            keys = (own * (2 * factors + np.uint64(1))).sum(1, dtype=np.uint64)
            before = memory.keys[band].add(keys, first)
            has_one = np.flatnonzero(before >= 0)
            others = self._kept(before[has_one])
            alike = (signatures[has_one] == others).mean(1) if len(has_one) else np.zeros(0)
            best[has_one] = np.maximum(best[has_one], alike)
        return best

    def _kept(self, numbers: np.ndarray) -> np.ndarray:
        parts = self._memory.signatures
        ends = np.cumsum([len(part) for part in parts])
        part = np.searchsorted(ends, numbers, side="right")
        within = numbers - np.concatenate([[0], ends])[part]
        rows = [parts[p][w] for p, w in zip(part, within, strict=True)]
        return np.array(rows) if rows else np.empty((0, self.bands * self.hashes), np.uint32)


def dealing_side(steps: Sequence[Step], *, is_bitext: bool) -> str | None:
    """Return the side whose hash may determine the task of a row, preferably the reference, or
    None. Rows that a step treats as exact duplicates must be equal in this side.
    """
    sides = [REFERENCE, SOURCE if is_bitext else TRANSLATION]
    for step in steps:
        if isinstance(step, Duplicates) and (is_bitext or step.of != SOURCE):
            enough = (REFERENCE, TRANSLATION) if step.of == PAIR else (step.of,)
            sides = [side for side in sides if side in enough]
    return sides[0] if sides else None


def _texts(rows: Sequence[Row], of: str) -> list[str]:
    if of != PAIR:
        return column(rows, of)
    first, second = column(rows, REFERENCE), column(rows, TRANSLATION)
    return [f"{a}\t{b}" for a, b in zip(first, second, strict=True)]
