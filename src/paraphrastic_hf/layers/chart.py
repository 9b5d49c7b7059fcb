"""The best binary bracketing of sentences whose spans have scores: CKY, for a batch at once (Stern
et al., 2017).

    b(i, j) = s(i, j) + max_k b(i, k) + b(k, j),   b(i, i + 1) = s(i, i + 1)

A span that is no phrase scores 0, so that a tree of any arity is a binary one with some spans left
out.
"""

from __future__ import annotations

import numpy as np


def best_splits(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the best bracketing splits every span, and what the bracketing scores.

    Time grows with the third power of the words of the longest sentence and memory with the second;
    all spans of one width, of all sentences, are one step.

    Args:
        scores: s, (batch, words + 1, words + 1) float32; entry i, j is of the words i to j - 1.
            Spans beyond the end of a sentence are computed and never looked at.

    Returns:
        The place k of the best split of every span, and b, both (batch, words + 1, words + 1).

    Example:
        >>> scores = np.zeros((1, 4, 4), np.float32)
        >>> scores[0, 1, 3] = 1  # the second and the third word are a phrase
        >>> best_splits(scores)[0][0, 0, 3], best_splits(scores)[1][0, 0, 3]
        (np.int32(1), np.float32(1.0))
    """
    batch, places, _ = scores.shape
    from_left = np.zeros((batch, places, places), np.float32)  # sentence, start, width
    from_right = np.zeros((batch, places, places), np.float32)  # sentence, end, places - width
    splits = np.zeros(scores.shape, np.int32)
    best = np.zeros(scores.shape, np.float32)
    for width in range(1, places):
        starts = np.arange(places - width)
        ends = starts + width
        found = scores[:, starts, ends].astype(np.float32)  # (batch, spans)
        if width > 1:
            left = from_left[:, : places - width, 1:width]
            right = from_right[:, width:, places - width + 1 : places]
            sums = left + right  # (batch, spans, splits)
            chosen = sums.argmax(2)
            found += np.take_along_axis(sums, chosen[:, :, None], 2)[:, :, 0]
            splits[:, starts, ends] = starts + 1 + chosen
        from_left[:, starts, width] = found
        from_right[:, ends, places - width] = found
        best[:, starts, ends] = found
    return splits, best


def bracketing(splits: np.ndarray, words: int) -> list[tuple[int, int]]:
    """The spans of a sentence's best bracketing, each before those within it, from left to right.

    Args:
        splits: The places of the best splits of one sentence, (words + 1, words + 1), or more.
        words: Number of words in the sentence, at least 1.

    Returns:
        2 words - 1 pairs of a start and an end.

    Example:
        >>> bracketing(np.full((3, 3), 1), 2)
        [(0, 2), (0, 1), (1, 2)]
    """
    found, stack = [], [(0, words)]
    while stack:
        start, end = stack.pop()
        found.append((start, end))
        if end - start > 1:
            split = int(splits[start, end])
            stack += [(split, end), (start, split)]
    return found
