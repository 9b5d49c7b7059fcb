"""Bitext mining: finds translations by their sentence vectors (thesis, 5.2.4 and 5.13.2).

Let mean_k(x) be the mean cosine of x with its k nearest neighbors. The score of a pair (x, y) is

    f(cos(x, y), (mean_k(x) + mean_k(y)) / 2)

where f(a, b) is a (`cosine`), a - b (`distance`) or a / b (`ratio`). Subtracting or dividing by b
lowers the score of sentences that are near to all others. Source: Artetxe and Schwenk, Margin-based
Parallel Corpus Mining with Multilingual Sentence Embeddings (2019), section 3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.encoders.vectors import as_array
from paraphrastic_hf.errors import DataError, nearest_name
from paraphrastic_hf.extras import require
from paraphrastic_hf.mining.approximate import PROBES, nearest_by_faiss
from paraphrastic_hf.mining.neighbors import Neighbors, nearest
from paraphrastic_hf.mining.tiles import PRECISIONS
from paraphrastic_hf.mining.vectors import UnitRows

SCORES = ("ratio", "distance", "cosine")
SMALLEST_MEAN = 0.1  # means near 0, as in short files, would make the ratio meaningless


def neighbor_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean cosine with k neighbors, (sentences,) float64. Missing ones are -inf."""
    there = np.isfinite(scores)
    total = np.where(there, scores, 0).sum(1, dtype=np.float64)
    return np.asarray(total / np.maximum(there.sum(1), 1))


def margin_score(
    cosine: np.ndarray, source_mean: np.ndarray, target_mean: np.ndarray, kind: str = "ratio"
) -> np.ndarray:
    """Return the margins of cosines over mean cosines, float32, in the broadcast shape. In a ratio,
    a mean below 0.1 counts as 0.1.
    """
    mean = (source_mean + target_mean) / 2
    if kind == "cosine":
        score = cosine + np.zeros_like(mean)
    elif kind == "distance":
        score = cosine - mean
    else:
        score = cosine / np.maximum(mean, SMALLEST_MEAN)
    return np.asarray(score, np.float32)


CANDIDATES = ("forward", "backward", "union", "intersection")
INDICES = ("exact", "faiss-flat", "faiss-ivf")
CHOICES = {
    "score": SCORES, "candidates": CANDIDATES, "index": INDICES, "precision": PRECISIONS,
}  # fmt: skip
PAIRS_AT_A_TIME = 65_536


class Pairs(NamedTuple):
    """Mined pairs, best first. Equal scores are sorted by source row, then by target row."""

    score: np.ndarray  # (pairs,) float32
    source: np.ndarray  # row of each pair's source vector, (pairs,) int64
    target: np.ndarray  # row of each pair's target vector, (pairs,) int64

    def at_least(self, threshold: float) -> Pairs:
        return Pairs(*(column[self.score >= threshold] for column in self))


def mine(
    source: Any,
    target: Any,
    *,
    k: int = 4,
    score: str = "ratio",
    candidates: str = "union",
    one_to_one: bool = True,
    threshold: float | None = None,
    skip: np.ndarray | None = None,
    index: str = "exact",
    probes: int = PROBES,
    memory: float = 1024,
    precision: str = "float32",
    keep: Path | None = None,
    key: str = "",
    progress: bool = False,
) -> Pairs:
    """Find pairs of sentences with the same meaning, by their vectors.

    A sentence with a zero vector is in no pair. Of sentences with equal vectors, the first is
    chosen. To find paraphrases in one text, pass its vectors as both sides, and use `skip` so that
    no sentence pairs with itself.

    Args:
        source: Sentence vectors of one side, (n, dim): an array (in memory or memory-mapped), a
            tensor, a list of arrays or tensors, or `UnitRows`.
        target: Sentence vectors of the other side, (m, dim), in any of these forms.
        k: Number of neighbors in the margin, at least 1. Artetxe and Schwenk (2019) use 4.
        score: Score of a pair: `ratio`, `distance` or `cosine`.
        candidates: Candidate pairs: each source with its best target (`forward`), each target with
            its best source (`backward`), the pairs in either set (`union`), or in both
            (`intersection`).
        one_to_one: Use every sentence at most once, taking pairs in order of score (competitive
            linking).
        threshold: Lowest score of a pair. None for no limit.
        skip: For each source, the row of a target that it may not pair with, (n,), or -1. This
            target is no neighbor either. At most one source may exclude a target.
        index: Search method: `exact`, `faiss-flat` or `faiss-ivf`.
        probes: Number of cells that `faiss-ivf` searches, at least 1.
        memory: Megabytes for the exact search, above 0 (see `neighbors.nearest`).
        precision: Number format of the exact search, `float32` or `bfloat16`.
        keep: File for the state of the exact search, from which an interrupted search resumes.
        key: Identifies the vectors. A state in `keep` with another key is ignored.
        progress: Show a progress bar.

    Raises:
        DataError: An argument is out of range, a vector is not finite, or FAISS is not installed.

    Example:
        >>> pairs = mine(np.eye(3), np.eye(3)[[2, 0, 1]], k=1)
        >>> pairs.source.tolist(), pairs.target.tolist()
        ([0, 1, 2], [1, 2, 0])
    """
    linking: dict[str, Any] = {
        "score": score, "candidates": candidates, "one_to_one": one_to_one, "threshold": threshold,
    }  # fmt: skip
    check_options(k=k, index=index, probes=probes, precision=precision, **linking)
    own, other = as_rows(source, "source"), as_rows(target, "target")
    wanted = k if skip is None else k + 1
    if index == "exact":
        forward, backward = nearest(
            own,
            other,
            wanted,
            memory=memory,
            precision=precision,
            keep=keep,
            key=key,
            progress=progress,
        )
    else:
        kind = index.removeprefix("faiss-")
        forward, backward = nearest_by_faiss(
            own, other, wanted, kind=kind, probes=probes, progress=progress
        )
    if skip is not None:
        skip = np.asarray(skip, np.int64)[own.rows]
        to_target = (other.rows[forward.ids] == skip[:, None]) & (forward.ids >= 0)
        to_source = (skip[backward.ids] == other.rows[:, None]) & (backward.ids >= 0)
        forward, backward = dropped(forward, to_target, k), dropped(backward, to_source, k)
    found = link(forward, backward, **linking)
    return Pairs(found.score, own.rows[found.source], other.rows[found.target])


def check_options(
    *,
    k: int = 4,
    probes: int = PROBES,
    memory: float = 1024,
    one_to_one: bool = True,
    threshold: float | None = None,
    **choices: Any,
) -> None:
    """Raise a `DataError` for wrong options of `mine`, before hours of encoding."""
    for name, value in choices.items():
        if name not in CHOICES:
            known = sorted([*CHOICES, *(check_options.__kwdefaults__ or ())])
            raise DataError(f"Mining has no option {name!r}. {nearest_name(name, known)}")
        if value not in CHOICES[name]:
            raise DataError(f"{name} must be one of {', '.join(CHOICES[name])}, got {value!r}")
    if k < 1:
        raise DataError(f"k must be at least 1, got {k}")
    if probes < 1:
        raise DataError(f"probes must be at least 1, got {probes}")
    if not 0 < memory < np.inf:
        raise DataError(f"memory must be a number of MB above 0, got {memory:g}")
    if threshold is not None and np.isnan(threshold):
        raise DataError("threshold must be a number, got nan")
    if choices.get("index", "exact") != "exact":
        require("mining", "faiss", what=f"index {choices['index']}")
    elif choices.get("precision") == "bfloat16":
        require("train", "torch", what="mining with precision bfloat16")


def as_rows(vectors: Any, name: str) -> UnitRows:
    if isinstance(vectors, UnitRows):
        return vectors
    if isinstance(vectors, (list, tuple)):
        vectors = [as_array(row) for row in vectors]
    return UnitRows(as_array(vectors), name=name)


def link(
    forward: Neighbors,
    backward: Neighbors,
    *,
    score: str = "ratio",
    candidates: str = "union",
    one_to_one: bool = True,
    threshold: float | None = None,
) -> Pairs:
    """Choose pairs among the neighbors of sources and of targets, with the options of `mine`."""
    means = neighbor_mean(forward.scores), neighbor_mean(backward.scores)
    there = best_of_each(forward, *means, score)
    turned = best_of_each(backward, means[1], means[0], score)
    back = Pairs(turned.score, turned.target, turned.source)
    if candidates == "forward":
        found = there
    elif candidates == "backward":
        found = back
    else:
        both = [np.concatenate(columns) for columns in zip(there, back, strict=True)]
        del there, turned, back
        key = both[1] * max(len(backward.ids), 1) + both[2]
        _, first, times = np.unique(key, return_index=True, return_counts=True)
        chosen = first[times == 2] if candidates == "intersection" else first
        found = Pairs(*(column[chosen] for column in both))
    if threshold is not None:
        found = found.at_least(threshold)
    order = np.lexsort((found.target, found.source, -found.score))
    found = Pairs(*(column[order] for column in found))
    return competitive_linking(found) if one_to_one else found


def best_of_each(
    neighbors: Neighbors, own_mean: np.ndarray, other_mean: np.ndarray, score: str
) -> Pairs:
    """Pair each sentence with its neighbor of the highest margin, the first of equal ones."""
    rows = np.nonzero((neighbors.ids >= 0).any(1))[0]
    ids, cosine = neighbors.ids[rows], neighbors.scores[rows]
    if not len(rows):
        return Pairs(np.empty(0, np.float32), rows, rows)
    scores = margin_score(cosine, own_mean[rows][:, None], other_mean[np.maximum(ids, 0)], score)
    scores[ids < 0] = -np.inf
    highest = scores.max(1)
    best = np.where(scores == highest[:, None], ids, np.iinfo(np.int64).max).min(1)
    return Pairs(highest, rows, best)


def competitive_linking(pairs: Pairs) -> Pairs:
    """Keep each pair, best first, unless one of its sentences is in a pair that was kept before."""
    sources = bytearray(int(pairs.source.max(initial=-1)) + 1)
    targets = bytearray(int(pairs.target.max(initial=-1)) + 1)
    is_kept = np.zeros(len(pairs.score), bool)
    for start in range(0, len(is_kept), PAIRS_AT_A_TIME):
        part = slice(start, start + PAIRS_AT_A_TIME)
        sides = zip(pairs.source[part].tolist(), pairs.target[part].tolist(), strict=True)
        for place, (source, target) in enumerate(sides, start):
            if not sources[source] and not targets[target]:
                sources[source] = targets[target] = 1
                is_kept[place] = True
    return Pairs(*(column[is_kept] for column in pairs))


def dropped(neighbors: Neighbors, is_dropped: np.ndarray, k: int) -> Neighbors:
    """Drop the neighbors in a mask, (sentences, count). Return the k best of the others."""
    scores = np.where(is_dropped, -np.inf, neighbors.scores).astype(np.float32)
    ids = np.where(is_dropped, -1, neighbors.ids)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(scores, order, 1), np.take_along_axis(ids, order, 1))
