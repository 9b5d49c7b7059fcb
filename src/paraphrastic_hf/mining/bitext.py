"""Pairs of rows that translate each other: candidates from neighbours, and one-to-one linking.

The search is in `neighbours.py` and `approximate.py`, files in and out in `files.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paraphrastic_hf.errors import DataError, nearest_name
from paraphrastic_hf.mining.approximate import PROBES, load_faiss, nearest_by_faiss
from paraphrastic_hf.mining.margin_score import SCORES, margin_score, neighbour_mean
from paraphrastic_hf.mining.neighbours import Neighbours, nearest
from paraphrastic_hf.mining.tiles import PRECISIONS
from paraphrastic_hf.mining.vectors import UnitRows

CANDIDATES = ("forward", "backward", "union", "intersection")
INDICES = ("exact", "faiss-flat", "faiss-ivf")
PAIRS_AT_A_TIME = 65_536


class Pairs(NamedTuple):
    """Mined pairs, best first; of equal scores the lower source, then the lower target.

    Attributes:
        score: (pairs,) float32.
        source: Row of either side, (pairs,) int64.
        target: Likewise.
    """

    score: np.ndarray
    source: np.ndarray
    target: np.ndarray


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
    """Find the pairs of rows that mean the same.

    Rows are different sentences even if their vectors are equal; then the lower row wins. A zero
    row is in no pair. Where both sides are the same, every row's best partner is itself, unless
    `skip` says otherwise.

    Args:
        source: Vectors, (n, dim), in memory or memory-mapped; or `UnitRows`.
        target: Vectors, (m, dim).
        k: Neighbours of either side that the margin is taken over; 4 as Artetxe and Schwenk (2019).
        score: `ratio`, `distance` or `absolute` (the cosine).
        candidates: Each source with its best target (`forward`), each target with its best source
            (`backward`), the pairs of either (`union`) or of both (`intersection`).
        one_to_one: Use every row at most once, by competitive linking.
        threshold: Lowest score of a pair; None for all.
        skip: For each source the target it must not be paired with or counted near to, -1 for
            none and no target twice, (n,); a text's own copy, in a search for paraphrases.
        index: `exact`, `faiss-flat` or `faiss-ivf`.
        probes: Cells that `faiss-ivf` looks into.
        memory: MB for the exact search, see `neighbours.nearest`.
        precision: Of the exact search, `float32` or `bfloat16`, see there.
        keep: File in which the exact search is kept, to go on from if interrupted.
        key: What the vectors are; a kept search counts if it has the same.
        progress: Show a progress bar.

    Raises:
        DataError: An argument is out of range, a row is not finite, or FAISS is not installed.

    Example:
        >>> pairs = mine(np.eye(3), np.eye(3)[[2, 0, 1]], k=1)
        >>> pairs.source.tolist(), pairs.target.tolist()
        ([0, 1, 2], [1, 2, 0])
    """
    check_options(
        k=k,
        score=score,
        candidates=candidates,
        index=index,
        probes=probes,
        precision=precision,
        threshold=threshold,
    )
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
        forward, backward = _without(forward, backward, own, other, skip, k)
    found = link(
        forward,
        backward,
        score=score,
        candidates=candidates,
        one_to_one=one_to_one,
        threshold=threshold,
    )
    return Pairs(found.score, own.rows[found.source], other.rows[found.target])


def check_options(
    *,
    k: int = 4,
    score: str = "ratio",
    candidates: str = "union",
    index: str = "exact",
    probes: int = PROBES,
    precision: str = "float32",
    one_to_one: bool = True,
    threshold: float | None = None,
    **unknown: Any,
) -> None:
    """Refuse options that `mine` would refuse, so that this happens before hours of encoding.

    Raises:
        DataError: There is no option of that name, one is out of range, or FAISS is not installed.
    """
    for name in unknown:
        known = sorted(check_options.__kwdefaults__ or ())
        raise DataError(f"mining has no option {name!r}; {nearest_name(name, known)}")
    _check(index, INDICES, "index")
    _check(score, SCORES, "score")
    _check(candidates, CANDIDATES, "set of candidates")
    _check(precision, PRECISIONS, "precision")
    if k < 1:
        raise DataError(f"k must be at least 1, got {k}")
    if probes < 1:
        raise DataError(f"probes must be at least 1, got {probes}")
    if threshold is not None and np.isnan(threshold):
        raise DataError("threshold must be a number, got nan")
    if index != "exact":
        load_faiss()


def as_rows(vectors: Any, name: str) -> UnitRows:
    """Vectors as `UnitRows`, if they are not already."""
    return vectors if isinstance(vectors, UnitRows) else UnitRows(np.asanyarray(vectors), name=name)


def link(
    forward: Neighbours,
    backward: Neighbours,
    *,
    score: str = "ratio",
    candidates: str = "union",
    one_to_one: bool = True,
    threshold: float | None = None,
) -> Pairs:
    """Make pairs of lines from the neighbours of both sides.

    Args:
        forward: The nearest targets of each source.
        backward: The nearest sources of each target.
        score: As `mine` takes it, like the other arguments.
    """
    means = neighbour_mean(forward.scores), neighbour_mean(backward.scores)
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
        found = Pairs(*(column[found.score >= threshold] for column in found))
    order = np.lexsort((found.target, found.source, -found.score))
    found = Pairs(*(column[order] for column in found))
    return competitive_linking(found) if one_to_one else found


def best_of_each(
    neighbours: Neighbours, own_mean: np.ndarray, other_mean: np.ndarray, score: str
) -> Pairs:
    """Pair every row with its neighbour of the highest score.

    Of neighbours with equal scores the one with the lowest number wins. Rows without neighbours are
    left out.
    """
    rows = np.nonzero((neighbours.ids >= 0).any(1))[0]
    ids, cosine = neighbours.ids[rows], neighbours.scores[rows]
    if not len(rows):
        return Pairs(np.empty(0, np.float32), rows, rows)
    scores = margin_score(cosine, own_mean[rows][:, None], other_mean[np.maximum(ids, 0)], score)
    scores[ids < 0] = -np.inf
    highest = scores.max(1)
    best = np.where(scores == highest[:, None], ids, np.iinfo(np.int64).max).min(1)
    return Pairs(highest, rows, best)


def competitive_linking(pairs: Pairs) -> Pairs:
    """Go through pairs from the best on and keep those whose two rows are both still free."""
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


def _check(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise DataError(f"there is no {what} {value!r}; there are {', '.join(known)}")


def _without(
    forward: Neighbours,
    backward: Neighbours,
    source: UnitRows,
    target: UnitRows,
    skip: np.ndarray,
    k: int,
) -> tuple[Neighbours, Neighbours]:
    """Remove from the neighbours the target that each source must not be paired with, both ways."""
    skip = np.asarray(skip, np.int64)[source.rows]
    to_target = (target.rows[forward.ids] == skip[:, None]) & (forward.ids >= 0)
    to_source = (skip[backward.ids] == target.rows[:, None]) & (backward.ids >= 0)
    return _dropped(forward, to_target, k), _dropped(backward, to_source, k)


def _dropped(neighbours: Neighbours, is_dropped: np.ndarray, k: int) -> Neighbours:
    scores = np.where(is_dropped, -np.inf, neighbours.scores).astype(np.float32)
    ids = np.where(is_dropped, -1, neighbours.ids)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(scores, order, 1), np.take_along_axis(ids, order, 1))
