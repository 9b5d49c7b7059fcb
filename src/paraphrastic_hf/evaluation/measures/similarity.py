"""Correlations of cosines with human scores, by dataset and by group (thesis, 2.1.1)."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine
from paraphrastic_hf.evaluation.suite import Row

Encode = Callable[[list[str]], np.ndarray]
Numbers = Sequence[float] | np.ndarray
WHOLE = "all pairs"  # name of the scores over all pairs of a group


def score_suite(
    encode: Encode, suite: Sequence[ScoredPairs], *, has_whole: bool = False
) -> list[Row]:
    """Compute Pearson's r and Spearman's rho x 100 of every dataset.

    With `has_whole`, all pairs of a group are also scored as one dataset, named `WHOLE`.
    """
    found: list[tuple[str, str, np.ndarray, Numbers]] = [
        (pairs.group, pairs.name, cosine, pairs.scores)
        for pairs, cosine in zip(suite, cosines(encode, suite), strict=True)
    ]
    for group in dict.fromkeys(pairs.group for pairs in suite) if has_whole else ():
        own = [(cosine, gold) for of, _, cosine, gold in found if of == group]
        cosine, gold = (np.concatenate(side) for side in zip(*own, strict=True))
        found.append((group, WHOLE, cosine, gold))
    return [
        Row(
            group,
            name,
            len(gold),
            {"pearson": pearson(cosine, gold), "spearman": spearman(cosine, gold)},
        )
        for group, name, cosine, gold in found
    ]


def cosines(encode: Encode, suite: Sequence[ScoredPairs]) -> list[np.ndarray]:
    """Return the cosines of each dataset's pairs, (pairs,). Every text is encoded only once."""
    texts = (text for pairs in suite for side in (pairs.first, pairs.second) for text in side)
    vectors_of = encode_once(encode, texts)
    return [pairwise_cosine(vectors_of(pairs.first), vectors_of(pairs.second)) for pairs in suite]


def encode_once(encode: Encode, texts: Iterable[str]) -> Callable[[Sequence[str]], np.ndarray]:
    """Encode distinct texts, and return a function from texts to their vectors, (texts, dim)."""
    distinct = sorted(set(texts))
    place = {text: i for i, text in enumerate(distinct)}
    vectors = checked_vectors(encode(distinct), len(distinct))
    return lambda side: vectors[[place[text] for text in side]]


def pearson(predicted: Numbers, gold: Numbers) -> float:
    """Return Pearson's r x 100, or 0 if one argument is constant."""
    return float(100 * pearson_rows(np.array([predicted], float), np.array([gold], float))[0])


def spearman(predicted: Numbers, gold: Numbers) -> float:
    """Return Spearman's rho x 100, or 0 if one argument is constant."""
    return float(100 * spearman_rows(np.array([predicted], float), np.array([gold], float))[0])


def pearson_rows(values: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return Pearson's r of each row of `values` with the same row of `gold`, (rows,).

    It is 0 if one of the two rows is constant.
    """
    sides = [each - each.mean(1, keepdims=True) for each in (values, gold)]
    squares = [np.square(each).sum(1) for each in sides]
    varies = np.ones(len(values), bool)
    for square, each in zip(squares, (values, gold), strict=True):
        varies &= square > 1e-20 * np.square(each).sum(1)
    scale = np.sqrt(np.where(varies, squares[0] * squares[1], 1))
    return np.asarray(np.where(varies, (sides[0] * sides[1]).sum(1) / scale, 0))


def spearman_rows(values: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return Spearman's rho of each row of `values` with the same row of `gold`, (rows,)."""
    from scipy import stats  # imported late, because it takes half a second

    return pearson_rows(stats.rankdata(values, axis=1), stats.rankdata(gold, axis=1))
