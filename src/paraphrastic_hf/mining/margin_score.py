r"""How much nearer two sentences are to each other than to their neighbours.

With the mean cosine of the k nearest neighbours of either sentence,

    score(x, y) = f(cos(x, y), (mean_k(x) + mean_k(y)) / 2)

and f(a, b) = a (cosine, also named absolute), a - b (distance), a / b (ratio): Artetxe and Schwenk,
Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings (2019), section 3, which
the thesis cites for bitext mining (5.13.2). A sentence that is near everything no longer wins.
"""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.errors import DataError

SCORES = ("ratio", "distance", "cosine", "absolute")
SMALLEST_MEAN = 0.1  # the ratio of two cosines near 0, as in a short file, would say nothing


def neighbour_mean(scores: np.ndarray) -> np.ndarray:
    """Average the cosines of each sentence with its k nearest neighbours, (sentences,) float64.

    Where a sentence has fewer than k neighbours, the mean is over those; it is 0 without any.

    Args:
        scores: The cosines, (sentences, k), -inf where there is no neighbour.
    """
    there = np.isfinite(scores)
    total = np.where(there, scores, 0).sum(1, dtype=np.float64)
    return np.asarray(total / np.maximum(there.sum(1), 1))


def margin_score(
    cosine: np.ndarray, source_mean: np.ndarray, target_mean: np.ndarray, kind: str = "ratio"
) -> np.ndarray:
    """Score how much nearer the sentences of a pair are to each other than to their neighbours.

    The three arrays may have any shapes that broadcast, such as (sources, 1) and (sources, k).

    Args:
        cosine: Cosine of the two sentences of each pair, any shape.
        source_mean: Mean cosine of the source with its k nearest targets, any shape.
        target_mean: Mean cosine of the target with its k nearest sources, any shape.
        kind: One of `SCORES`; `absolute` is another name of `cosine`. In a ratio, a mean below 0.1
            counts as 0.1.

    Returns:
        The scores in float32, in the shape that the arguments broadcast to. The cosine is
        from -1 to 1 and the distance from -2 to 2; the ratio is about 1 for a pair that is as near
        as its neighbourhood, and higher for a nearer one.

    Raises:
        DataError: The kind is none of these.

    Example:
        >>> margin_score(np.array([0.9]), np.array([0.5]), np.array([0.7])).round(2)
        array([1.5], dtype=float32)
    """
    if kind not in SCORES:
        raise DataError(f"there is no score {kind!r}; there are {', '.join(SCORES)}")
    mean = (source_mean + target_mean) / 2
    if kind in ("cosine", "absolute"):
        score = cosine + np.zeros_like(mean)
    elif kind == "distance":
        score = cosine - mean
    else:
        score = cosine / np.maximum(mean, SMALLEST_MEAN)
    return np.asarray(score, np.float32)
