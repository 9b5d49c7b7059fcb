"""Sentence alignment of a document and its translation, in document order.

A dynamic program chooses groups of up to four consecutive sentences that translate each other. The
cost of a group follows vecalign (Thompson and Koehn, 2019): (1 - cosine) of the two joined texts,
times the number of sentences on each side, divided by the same distance to random text. Long
documents are aligned coarsely first, so that time and memory grow in proportion to their length.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from paraphrastic_hf.encoders.vectors import as_array
from paraphrastic_hf.errors import DataError

MAX_SENTENCES = 5  # in a group, both sides together
SKIP_COST = 0.55  # chosen on development text (docs/guides/align.md)
COARSEST = 256  # sentences of a document that is aligned without a coarser path
MARGIN = 10  # sentences beside the coarse path that the search considers
ROUNDING = 1e-6  # added to distances, so that rounding joins no groups of equal cost
NEAREST = 1e-3  # smallest distance to random text, for documents that repeat one sentence


class _Encoder(Protocol):
    def encode(self, sentences: list[str], /) -> object: ...


class Group(NamedTuple):
    """Sentences that translate each other. One side may be empty."""

    source: range  # indices of consecutive source sentences
    target: range  # indices of consecutive target sentences
    score: float  # cosine of the joined texts, -1 to 1, or 0 if a side is empty


def align(
    source: Sequence[str],
    target: Sequence[str],
    encoder: _Encoder,
    *,
    max_sentences: int = MAX_SENTENCES,
    skip_cost: float = SKIP_COST,
) -> list[Group]:
    """Align the sentences of a document with those of its translation.

    Args:
        source: Sentences in document order.
        target: Sentences of the translation in document order.
        encoder: Encoder of both languages, such as the packaged `multilingual`.
        max_sentences: Maximum number of sentences in a group, both sides together, at least 2. With
            5, one sentence can have up to four sentences as its translation.
        skip_cost: Cost of a sentence without a translation, 0 to 1,000. A random pair of sentences
            costs about 1. Lower values leave out more sentences.

    Returns:
        Groups in document order. Every sentence is in exactly one group.

    Raises:
        DataError: If an option is out of range.
        TypeError: If a side is not a list of strings.

    Example:
        >>> from paraphrastic_hf import SentenceEncoder
        >>> encoder = SentenceEncoder.from_pretrained("multilingual")
        >>> german = ["Guten Morgen.", "Die Katze schläft auf dem Sofa."]
        >>> english = ["Good morning.", "The cat is sleeping.", "It lies on the sofa."]
        >>> for group in align(german, english, encoder):
        ...     print(list(group.source), list(group.target))
        [0] [0]
        [1] [1, 2]
    """
    if max_sentences < 2:
        raise DataError(f"max_sentences must be at least 2, got {max_sentences}")
    if not 0 <= skip_cost <= 1000:
        raise DataError(f"skip_cost must be from 0 to 1000, got {skip_cost}")
    sides = []
    for texts in (source, target):
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("source and target must be lists of strings")
        blocks = [
            [" ".join(texts[i : i + size]) for i in range(len(texts) - size + 1)]
            for size in range(1, min(max_sentences, len(texts) + 1))
        ]
        sides.append([_unit(encoder.encode(block)) for block in blocks])
    return align_vectors(*sides, skip_cost=skip_cost, max_sentences=max_sentences)


def align_vectors(
    source: Sequence[np.ndarray],
    target: Sequence[np.ndarray],
    *,
    skip_cost: float = SKIP_COST,
    max_sentences: int = MAX_SENTENCES,
) -> list[Group]:
    """Align by unit vectors, (sentences - size + 1, dim), of blocks of 1, 2, ... sentences."""
    rows, columns = (len(side[0]) if side else 0 for side in (source, target))
    if not rows or not columns:
        return [
            *(Group(range(i, i + 1), range(0), 0.0) for i in range(rows)),
            *(Group(range(rows), range(j, j + 1), 0.0) for j in range(columns)),
        ]
    groups = [
        (a, b)
        for a in range(1, len(source) + 1)
        for b in range(1, len(target) + 1)
        if a + b <= max_sentences
    ]
    band = _band_of(source[0], target[0], skip_cost)
    found = _search(source, target, groups, band, skip_cost)
    return [
        Group(
            range(i, i + a),
            range(j, j + b),
            float(source[a - 1][i] @ target[b - 1][j]) if a and b else 0.0,
        )
        for i, j, a, b in found
    ]


@dataclass(frozen=True)
class _Band:
    """Target positions `first[i]` to `last[i]` that are considered after i source sentences."""

    first: np.ndarray
    last: np.ndarray


def _unit(vectors: object) -> np.ndarray:
    rows = as_array(vectors).astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _band_of(source: np.ndarray, target: np.ndarray, skip_cost: float) -> _Band:
    """Return the positions near a path through documents whose sentences are joined in twos."""
    rows, columns = len(source), len(target)
    if min(rows, columns) <= COARSEST:
        return _Band(np.zeros(rows + 1, int), np.full(rows + 1, columns))
    half_source, half_target = _unit(_pairs(source)), _unit(_pairs(target))
    band = _band_of(half_source, half_target, skip_cost)
    path = _search([half_source], [half_target], [(1, 1)], band, skip_cost)
    first = np.full(rows + 1, columns)
    last = np.zeros(rows + 1, int)
    for i, j, a, b in path:
        own = slice(2 * i, 2 * (i + a) + 1)
        first[own] = np.minimum(first[own], 2 * j)
        last[own] = np.maximum(last[own], 2 * (j + b))
    last[-1] = columns
    # A row of the band also contains the positions of the rows MARGIN above and below it.
    after = np.minimum(np.arange(rows + 1) + MARGIN, rows)
    before = np.maximum(np.arange(rows + 1) - MARGIN, 0)
    first = np.minimum.accumulate(first[::-1])[::-1]
    last = np.maximum.accumulate(last)
    return _Band(np.maximum(first[before] - MARGIN, 0), np.minimum(last[after] + MARGIN, columns))


def _pairs(vectors: np.ndarray) -> np.ndarray:
    even = vectors[::2].copy()
    even[: len(vectors) // 2] += vectors[1::2]
    return even


def _search(
    source: Sequence[np.ndarray],
    target: Sequence[np.ndarray],
    groups: Sequence[tuple[int, int]],
    band: _Band,
    skip_cost: float,
) -> list[tuple[int, int, int, int]]:
    centers = [side[0].mean(0) for side in (source, target)]
    # Distance of each block to random text of the other side.
    far_rows = [1 - side @ centers[1] for side in source]
    far_columns = [1 - side @ centers[0] for side in target]
    rows = len(source[0])
    costs: deque[np.ndarray] = deque(maxlen=len(source))  # of the last rows
    moves: list[np.ndarray] = []  # index into `groups`, or -1 to skip a row, -2 to skip a column
    kind = np.min_scalar_type(-len(groups) - 2)
    for i in range(rows + 1):
        start, end = int(band.first[i]), int(band.last[i]) + 1
        best = np.full(end - start, np.inf)
        move = np.full(end - start, -1, kind)
        if i == 0:
            best[0] = 0.0
        for number, (a, b) in enumerate(((1, 0), *groups)):
            if a > i:
                continue
            before = int(band.first[i - a])
            low = max(start, before + b)
            high = min(end, before + len(costs[-a]) + b)
            if low >= high:
                continue
            cost = costs[-a][low - b - before : high - b - before]
            if b:
                row, columns = i - a, slice(low - b, high - b)
                far = far_rows[a - 1][row] + far_columns[b - 1][columns]
                near = 1 + ROUNDING - target[b - 1][columns] @ source[a - 1][row]
                cost = cost + 2 * a * b * near / np.maximum(far, NEAREST)
            else:
                cost = cost + skip_cost
            own = best[low - start : high - start]
            is_better = cost < own
            own[is_better] = cost[is_better]
            move[low - start : high - start][is_better] = number - 1
        # Skipping columns is a running minimum, because every column costs the same.
        steps = skip_cost * np.arange(end - start)
        lowest = np.minimum.accumulate(best - steps)
        move[lowest < best - steps] = -2
        costs.append(lowest + steps)
        moves.append(move)
    found = []
    i, j = rows, int(band.last[rows])
    while i or j:
        number = int(moves[i][j - int(band.first[i])])
        a, b = (0, 1) if number == -2 else (1, 0) if number == -1 else groups[number]
        i, j = i - a, j - b
        found.append((i, j, a, b))
    return found[::-1]
