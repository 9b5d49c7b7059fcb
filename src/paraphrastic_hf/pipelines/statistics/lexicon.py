"""A lexicon of paraphrases from pairs of sentences: cross-sentence PMI, and what is left of it when
the PMI within sentences is taken away (thesis, 4.9.1)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.statistics.describe import words_of

MAX_WORDS = 30  # of either sentence (4.9.1)
MIN_COUNT = 10  # of pairs of words that are listed (4.9.1)
WORDS_AT_A_TIME = 500
COLUMNS = ("word", "paraphrase", "adjusted_pmi", "cross_pmi", "count")


@dataclass(frozen=True)
class Entry:
    """A word and one that stands for it in paraphrases.

    Attributes:
        word: In lower case.
        paraphrase: In lower case.
        adjusted_pmi: Cross-sentence PMI less the PMI within sentences, in nats; entries are ranked
            by it.
        cross_pmi: Cross-sentence PMI, in nats.
        count: Pairs of sentences with the word on one side and the paraphrase on the other.
    """

    word: str
    paraphrase: str
    adjusted_pmi: float
    cross_pmi: float
    count: int


class PairCounts:
    """Which words are in which pairs of sentences, from which any PMI is computed.

    With N pairs of sentences, n(u) the sentences with u of all 2N, and n(u, v) the pairs that have
    u in one sentence and v in the other, counted twice if both ways round:

        cross(u, v) = ln n(u, v) 2N / (n(u) n(v))

    The PMI within sentences is that of the references and that of the translations, averaged. It
    is 0 where two words are in no sentence together, as the thesis's is of pairs never seen: it
    does not say. Words are runs of letters and digits, in lower case; a sentence has each once.

    Args:
        pairs: References and translations.
        max_words: Pairs with a longer side are passed over; None for no limit.

    Raises:
        DataError: No pair is left.

    Example:
        >>> counts = PairCounts([("a big dog", "a large dog"), ("the big cat", "the large cat")])
        >>> cross, adjusted, count = counts.scores(["big"], ["large"])
        >>> round(float(cross[0]), 3), int(count[0])
        (0.693, 2)
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], *, max_words: int | None = MAX_WORDS
    ) -> None:
        self.numbers: dict[str, int] = {}
        flat = (array("i"), array("i"))
        ends = (array("q", [0]), array("q", [0]))
        for pair in pairs:
            if max_words is not None and max(len(text.split()) for text in pair) > max_words:
                continue
            both = [words_of(text) for text in pair]
            for words, ids, places in zip(both, flat, ends, strict=True):
                for word in set(words):
                    ids.append(self.numbers.setdefault(word, len(self.numbers)))
                places.append(len(ids))
        self.pairs = len(ends[0]) - 1
        if not self.pairs:
            raise DataError("no pair is left to count words in")
        shape = (self.pairs, len(self.numbers))
        # (sentences, words) with a 1 where a sentence has a word; and the same turned round
        self._sides = [
            sparse.csr_matrix(
                (
                    np.ones(len(ids), np.int32),
                    np.frombuffer(ids, np.int32),
                    np.frombuffer(places, np.int64),
                ),
                shape=shape,
            )
            for ids, places in zip(flat, ends, strict=True)
        ]
        self._turned = [side.T.tocsr() for side in self._sides]
        self._counts = [np.diff(turned.indptr).astype(np.float64) for turned in self._turned]
        self.words = list(self.numbers)

    def scores(
        self, first: Sequence[str], second: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cross-sentence PMI, adjusted PMI, and the count, of pairs of words.

        Args:
            first: Words, in lower case.
            second: As many others.

        Returns:
            Three arrays, (pairs,): nats, nats, and the number of pairs of sentences; all 0 where
            the two words were never seen across a pair.
        """
        known = sorted({word for word in (*first, *second) if word in self.numbers})
        place = {word: number for number, word in enumerate(known)}
        chosen = np.array([self.numbers[word] for word in known], np.int64)
        found = np.zeros((3, len(first)))
        seen = [
            (number, place[u], place[v])
            for number, (u, v) in enumerate(zip(first, second, strict=True))
            if u in place and v in place
        ]
        if seen:
            at, u, v = np.array(seen).T
            cross, within = self._joint(chosen, chosen)
            found[:, at] = self._pmi(
                _at(cross, u, v), [_at(each, u, v) for each in within], chosen[u], chosen[v]
            )
        return found[0], found[1], found[2]

    def entries(
        self, min_count: int = MIN_COUNT, words: Iterable[str] | None = None
    ) -> Iterator[Entry]:
        """The lexicon: words in order of the alphabet, each with its paraphrases, the best first.

        Args:
            min_count: Fewest pairs of sentences with the two words across, 1 or more.
            words: The words wanted, in lower case; all if None.
        """
        frequent = np.flatnonzero(self._counts[0] + self._counts[1] >= min_count)
        if words is not None:
            known = [self.numbers[word] for word in words if word in self.numbers]
            frequent = np.intersect1d(frequent, np.array(known, np.int64))
        order = frequent[np.argsort([self.words[number] for number in frequent], kind="stable")]
        for start in range(0, len(order), WORDS_AT_A_TIME):
            block = order[start : start + WORDS_AT_A_TIME]
            cross, within = self._joint(block, None)
            joint = cross.tocoo()
            is_kept = (joint.data >= min_count) & (block[joint.row] != joint.col)
            rows, columns = joint.row[is_kept], joint.col[is_kept]
            scores = self._pmi(
                joint.data[is_kept],
                [_at(each, rows, columns) for each in within],
                block[rows],
                columns,
            )
            ranked = np.lexsort((columns, -scores[1], rows))
            for number in ranked.tolist():
                yield Entry(
                    self.words[block[rows[number]]],
                    self.words[columns[number]],
                    float(scores[1, number]),
                    float(scores[0, number]),
                    int(scores[2, number]),
                )

    def _joint(self, first: np.ndarray, second: np.ndarray | None) -> tuple[Any, list[Any]]:
        """How often the words of one list are with those of another (all if None): across a pair,
        then within references and within translations."""
        own = [turned[first] for turned in self._turned]
        other = [side if second is None else side[:, second] for side in self._sides]
        cross = own[0] @ other[1] + own[1] @ other[0]
        return cross.tocsr(), [(a @ b).tocsr() for a, b in zip(own, other, strict=True)]

    def _pmi(
        self, cross: np.ndarray, within: list[np.ndarray], first: np.ndarray, second: np.ndarray
    ) -> np.ndarray:
        """(3, pairs): cross-sentence PMI, adjusted PMI, counts; zeros where the count is 0."""
        total = self._counts[0] + self._counts[1]
        of_cross = _pmi_of(cross, 2 * self.pairs, total[first], total[second])
        halves = [
            _pmi_of(joint, self.pairs, counts[first], counts[second])
            for joint, counts in zip(within, self._counts, strict=True)
        ]
        adjusted = of_cross - (halves[0] + halves[1]) / 2
        return np.where(cross > 0, [of_cross, adjusted, cross], 0.0)


def _pmi_of(joint: np.ndarray, total: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """ln joint total / (first second), and 0 where the joint count is."""
    safe = np.where(joint > 0, joint, 1.0) * total / np.maximum(first * second, 1.0)
    return np.where(joint > 0, np.log(safe), 0.0)


def _at(matrix: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The numbers of a sparse matrix at some places, (places,) float64."""
    return np.asarray(matrix[rows, columns], np.float64).ravel()
