r"""How much nearer two sentences are to each other than to their neighbours.

With the mean cosine of the k nearest neighbours of either sentence,

    score(x, y) = f(cos(x, y), (mean_k(x) + mean_k(y)) / 2)

and f(a, b) = a (absolute: the cosine itself), a - b (distance), a / b (ratio): Artetxe and Schwenk,
Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings (2019), section 3, which
the thesis cites for bitext mining (5.13.2). A sentence that is near everything no longer wins.
"""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.errors import DataError

SCORES = ("absolute", "distance", "ratio")
SMALLEST_MEAN = 1e-3  # of neighbours, below which a ratio would say nothing


def neighbour_mean(scores: np.ndarray) -> np.ndarray:
    """The mean cosine of each row to its neighbours, (rows,) float64.

    A row with fewer than k neighbours is averaged over those it has; without any it is 0.

    Args:
        scores: Cosines, (rows, k); -inf where a row has fewer than k neighbours.
    """
    there = np.isfinite(scores)
    total = np.where(there, scores, 0).sum(1, dtype=np.float64)
    return np.asarray(total / np.maximum(there.sum(1), 1))


def margin_score(
    cosine: np.ndarray, source_mean: np.ndarray, target_mean: np.ndarray, kind: str = "ratio"
) -> np.ndarray:
    """The margin score of pairs (Artetxe and Schwenk, 2019, section 3); the arrays broadcast.

    Args:
        cosine: The cosines of the pairs, -1 to 1.
        source_mean: Mean cosine of the source's k nearest targets.
        target_mean: Mean cosine of the target's k nearest sources.
        kind: `absolute`, `distance` or `ratio`; a mean below 0.001 counts as that in a ratio.

    Returns:
        float32. Absolute: -1 to 1; distance: -2 to 2; ratio: about 1 for a pair like its
        neighbourhood, more for a better one.

    Raises:
        DataError: `kind` is none of the three.

    Example:
        >>> margin_score(np.array([0.9]), np.array([0.5]), np.array([0.7])).round(2)
        array([1.5], dtype=float32)
    """
    if kind not in SCORES:
        raise DataError(f"there is no score {kind!r}; there are {', '.join(SCORES)}")
    mean = (source_mean + target_mean) / 2
    if kind == "absolute":
        score = cosine + np.zeros_like(mean)
    elif kind == "distance":
        score = cosine - mean
    else:
        score = cosine / np.maximum(mean, SMALLEST_MEAN)
    return np.asarray(score, np.float32)
