"""SIM by windows: what is compared is not two sentences but every few tokens of one with every few
of the other (an addition of ours to 7.2.1).

The mean of a sentence does not know what stood beside what, and a fault in one place is averaged
away by the rest. Here the rows of every five tokens in a row are added up; each such window finds
the one of the other text that is most like it, as in the matching of BERTScore (Zhang et al.,
2020), whose vectors are a transformer's; and SIM is the F1 of the mean best cosines of both sides.
The width was chosen on newstest2015 (recipes/beyond-bleu-2019).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np

from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.text.ragged import Ragged

REACH = 2  # tokens to either side: windows of five
DIGITS = 6  # of a cosine, which float32 holds
PAIRS_AT_A_TIME = 256  # that a thread takes
KEPT_TEXTS = 256  # whose windows are kept for the next comparison, without the C
MOST_TOKENS = 1024  # of a text that are compared


class TextWindows:
    """The windows of some texts, for comparing any of them with any other.

    Args:
        rows: The row of every token, (vocab, dim) float32.
        ids: The token ids of all texts. Of a longer text the first 1,024 tokens count.
        lengths: The length of each text, (texts,), where a length penalty is wanted.
        reach: How many tokens a window has to either side of its middle, 0 or more.
        num_threads: How many threads compare; -1 for one a core.

    Attributes:
        lengths: The length of each text, (texts,), or None.

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
        num_threads: int = -1,
    ) -> None:
        self._rows = np.ascontiguousarray(rows, np.float32)
        self._ids, self._reach = ids, reach
        self._threads = num_threads if num_threads > 0 else (os.cpu_count() or 1)
        self.lengths = lengths

    def sim(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Compare texts with others.

        Args:
            own: Numbers of texts, (pairs,), from 0.
            other: The number of the text that each is compared with, (pairs,).

        Returns:
            SIM of each pair, (pairs,) float64, from 0 to 1 and the same either way round; 0 where a
            text has no token.
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
        """Compare each of some texts with each of others, (own, other), as `sim` does.

        Args:
            own: Numbers of texts, (own,), from 0.
            other: Numbers of texts, (other,).
        """
        rows, columns = (each.ravel() for each in np.meshgrid(own, other, indexing="ij"))
        return self.sim(rows, columns).reshape(len(own), len(other))

    def _match(self, own: np.ndarray, other: np.ndarray, scores: np.ndarray, part: slice) -> None:
        ids, offsets = self._ids.ids, self._ids.offsets
        settings = (self._reach, MOST_TOKENS)
        match(self._rows, ids, offsets, own[part], other[part], scores[part], *settings)


def match_in_numpy(
    rows: np.ndarray,
    ids: np.ndarray,
    offsets: np.ndarray,
    own: np.ndarray,
    other: np.ndarray,
    scores: np.ndarray,
    reach: int,
    most: int,
) -> None:
    """Do what `_windows.c` does where that is not compiled.

    Args:
        rows: The row of every token, (vocab, dim) float32.
        ids: The token ids of all texts, end to end, (tokens,) int32.
        offsets: Where each text begins, and the end of the last, (texts + 1,) int64.
        own: Numbers of texts, (pairs,).
        other: The number of the text that each is compared with, (pairs,).
        scores: The array into which SIM of each pair is written, (pairs,) float64.
        reach: How many tokens a window has to either side of its middle, 0 or more.
        most: How many tokens of a text count, 0 or more.

    Example:
        >>> rows, scores = np.eye(2, dtype=np.float32), np.empty(1)
        >>> texts, first = Ragged.from_lists([[0, 1], [1]]), np.array([0])
        >>> match_in_numpy(rows, texts.ids, texts.offsets, first, first + 1, scores, 0, 9)
        >>> scores.round(3)
        array([0.667])
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
            cosines = first @ second.T
            precision, recall = cosines.max(1).mean(), cosines.max(0).mean()
            if not (precision <= 0 or recall <= 0):  # which lets NaN through
                scores[i] = min(2 * precision * recall / (precision + recall), 1.0)


try:
    from paraphrastic_hf.metrics._windows import match
except ImportError:  # no wheel for this platform and no compiler
    match = match_in_numpy
