"""SIM by windows: compares windows of five tokens instead of sentences (not in the thesis).

A sentence embedding ignores word order and hides local errors. Here the vector of a window is the
sum of its token vectors. Each window is matched with the most similar window of the other text, as
BERTScore matches tokens (Zhang et al., 2020). The best cosines are averaged for each text, and SIM
is the F1 (harmonic mean) of the two averages.

Strict windows lower the score more for each error. They average by the geometric mean, so a window
without a good match counts more. They also prefer matches at a similar place in the text: a cosine
is lowered by `SHIFT` times the distance of the two windows, in units of the text length.

Width, `SHIFT` and `LEAST` were tuned on newstest2015 (recipes/beyond-bleu-2019).
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.text.ragged import Ragged

REACH = 2  # tokens to either side, so windows of five
SHIFT = 0.2  # of strict windows: cosine lost from one end of the text to the other
LEAST = 0.02  # of strict windows: smallest cosine in the geometric mean
DIGITS = 6  # of a cosine, which float32 holds
PAIRS_AT_A_TIME = 256  # per thread
KEPT_TEXTS = 256  # texts whose windows the numpy version caches
MOST_TOKENS = 1024  # of a text, the rest is ignored


class TextWindows:
    """Windows of a list of texts, for comparing any two of the texts.

    Args:
        rows: Vector of each token, (vocab, dim) float32.
        ids: Token ids of all texts. Tokens after the first 1,024 of a text are ignored.
        lengths: Length of each text, (texts,). None without a length penalty.
        reach: Number of tokens of a window on each side of its middle token, 0 or more.
        strict: Compare by strict windows.
        num_threads: Number of threads; -1 uses one per core.

    Example:
        >>> rows = np.eye(4, dtype=np.float32)
        >>> texts = TextWindows(rows, Ragged.from_lists([[1, 2, 3], [3, 2, 1], [1], []]), reach=1)
        >>> texts.sim(np.array([0, 0, 0, 0]), np.array([0, 1, 2, 3]))
        array([1.      , 1.      , 0.533357, 0.      ])
    """

    def __init__(
        self,
        rows: np.ndarray,
        ids: Ragged,
        lengths: np.ndarray | None = None,
        *,
        reach: int = REACH,
        strict: bool = False,
        num_threads: int = -1,
    ) -> None:
        self._rows = np.ascontiguousarray(rows, np.float32)
        self._ids = ids
        self._settings = (reach, MOST_TOKENS, *((SHIFT, LEAST) if strict else (0.0, 0.0)))
        self._threads = num_threads if num_threads > 0 else (os.cpu_count() or 1)
        self.lengths = lengths

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Compare pairs of texts, given by index.

        Args:
            own: Index of the first text of each pair, (pairs,).
            other: Index of the second text of each pair, (pairs,).

        Returns:
            SIM of each pair, (pairs,) float64, 0 to 1. It is symmetric, and 0 if a text has no
            tokens.
        """
        own, other = (np.ascontiguousarray(each, np.int64) for each in (own, other))
        scores = np.empty(len(own))
        parts = [slice(i, i + PAIRS_AT_A_TIME) for i in range(0, len(own), PAIRS_AT_A_TIME)]
        work = partial(self._match, own, other, scores)
        if len(parts) < 2 or self._threads < 2:
            for part in parts:
                work(part)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(work, parts))
        return np.round(scores, DIGITS)

    def grid(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        rows, columns = (each.ravel() for each in np.meshgrid(own, other, indexing="ij"))
        return self.sim(rows, columns).reshape(len(own), len(other))

    def _match(self, own: np.ndarray, other: np.ndarray, scores: np.ndarray, part: slice) -> None:
        ids, offsets = self._ids.ids, self._ids.offsets
        match(self._rows, ids, offsets, own[part], other[part], scores[part], *self._settings)


def match_in_numpy(
    rows: np.ndarray,
    ids: np.ndarray,
    offsets: np.ndarray,
    own: np.ndarray,
    other: np.ndarray,
    scores: np.ndarray,
    reach: int,
    most: int,
    shift: float,
    least: float,
) -> None:
    """Compute SIM of pairs in numpy, like the compiled function `match` in `_windows.c`.

    Args:
        rows: Vector of each token, (vocab, dim) float32.
        ids: Concatenated token ids of all texts, (tokens,) int32.
        offsets: Start of each text, and the end of the last, (texts + 1,) int64.
        own: Index of the first text of each pair, (pairs,).
        other: Index of the second text of each pair, (pairs,).
        scores: Output array for the SIM of each pair, (pairs,) float64.
        reach: Number of tokens of a window on each side of its middle token, 0 or more.
        most: Maximum number of tokens compared per text, 0 or more.
        shift: Cosine lost by two windows at opposite ends of their texts, 0 or more.
        least: Smallest cosine in the geometric mean. 0 for the arithmetic mean.
    """
    texts = Ragged(ids, offsets)

    @lru_cache(maxsize=KEPT_TEXTS)
    def windows(number: int) -> np.ndarray:
        vectors = rows[texts[number][:most]]
        sums = vectors.copy()
        for step in range(1, min(reach, len(vectors) - 1) + 1):
            sums[:-step] += vectors[step:]
            sums[step:] += vectors[:-step]
        return unit_length(sums)

    for i, (a, b) in enumerate(zip(own.tolist(), other.tolist(), strict=True)):
        first, second = windows(a), windows(b)
        scores[i] = 0.0
        if len(first) and len(second):
            here, there = ((np.arange(len(side)) + 0.5) / len(side) for side in (first, second))
            cosines = first @ second.T - shift * np.abs(here[:, None] - there)
            precision, recall = (_mean(cosines.max(axis), least) for axis in (1, 0))
            if not (precision <= 0 or recall <= 0):  # written so that NaN passes through
                scores[i] = min(2 * precision * recall / (precision + recall), 1.0)


def _mean(best: np.ndarray, least: float) -> float:
    return float(np.exp(np.log(np.maximum(best, least)).mean()) if least > 0 else best.mean())


try:
    from paraphrastic_hf.metrics._windows import match
except ImportError:  # no wheel for this platform and no compiler
    match = match_in_numpy
