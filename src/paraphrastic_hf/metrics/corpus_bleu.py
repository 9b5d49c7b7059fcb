"""BLEU of a corpus with its interval and significance (Koehn, 2004, sections 3 and 4).

BLEU of a corpus is no mean over segments: matching n-grams, n-grams and lengths are summed over all
segments first. So a resample sums the counts of the segments that it draws, and BLEU is computed
from these sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.bootstrap import (
    FEWEST,
    ROUNDING,
    Interval,
    drawn_counts,
    p_value_of,
)

ORDER = 4  # n-grams of one to four words


@dataclass(frozen=True)
class CorpusBleu:
    """BLEU of one of several systems.

    Attributes:
        name: What the system is called.
        bleu: BLEU of the corpus with the 95 % interval, 0 to 100.
        p_value: How likely its difference from the first system is chance, above 0 to 1; None for
            the first system, and where there are fewer than 5 segments.
        samples: Number of resamples that the interval and the p-value come from.
    """

    name: str
    bleu: Interval
    p_value: float | None
    samples: int


def bleu_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Count in each segment what BLEU is computed from, with sacrebleu's 13a tokens.

    Args:
        hypotheses: A text for each segment.
        references: For each segment the list of its references, one or more.

    Returns:
        Length of the hypothesis, length of the closest reference, then for n-grams of one to four
        tokens how many match, and how many there are: (segments, 10), 0 or more.

    Example:
        >>> bleu_counts(["a b c"], [["a b d e"]]).tolist()
        [[3, 4, 2, 1, 0, 0, 3, 2, 1, 0]]
    """
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    metric = BLEU(effective_order=True)  # which changes the scores of segments, not the counts
    found = [
        metric.sentence_score(h, list(rs)) for h, rs in zip(hypotheses, references, strict=True)
    ]
    return np.array([[x.sys_len, x.ref_len, *x.counts, *x.totals] for x in found], np.int64)


def bleu_of_counts(counts: np.ndarray) -> float:
    """Return sacrebleu's BLEU of a corpus, 0 to 100, with exponential smoothing.

    Args:
        counts: Sums over the segments of what `bleu_counts` gives, (10,).

    Example:
        >>> round(bleu_of_counts(np.array([9, 9, 8, 6, 4, 2, 9, 8, 7, 6])), 1)
        59.7
    """
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    numbers = [int(value) for value in np.asarray(counts)]
    matching, there = numbers[2 : 2 + ORDER], numbers[2 + ORDER :]
    return float(
        BLEU.compute_bleu(matching, there, numbers[0], numbers[1], smooth_method="exp").score
    )


def compare_bleu(
    systems: Sequence[tuple[str, Sequence[str]]],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[CorpusBleu]:
    """Score systems by corpus BLEU, each with an interval and its significance against the first.

    Args:
        systems: The name and the hypotheses of each system, one text a segment.
        references: For each segment a text or a list of texts.
        samples: Number of resamples, 1 or more.
        seed: Seed of the draws, 0 or more; the same segments are drawn for all systems.

    Raises:
        DataError: There are no segments, a system has not as many as there are references, or
            `samples` or `seed` is out of range.

    Example:
        >>> systems = [("old", ["the cat sits down here"] * 9), ("new", ["the cat sat down"] * 9)]
        >>> new = compare_bleu(systems, ["the cat sat down"] * 9, samples=9)[1]
        >>> round(new.bleu.mean), new.p_value
        (100, 0.1)
    """
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if value < least:
            raise DataError(f"{name} must be {least} or more, got {value}")
    lists = [[each] if isinstance(each, str) else list(each) for each in references]
    for name, hypotheses in systems:
        if len(hypotheses) != len(lists) or not lists:
            raise DataError(
                f"{name} has {len(hypotheses):,} segments but there are references for "
                f"{len(lists):,}; BLEU needs as many, and one at least"
            )
    counts = [bleu_counts(hypotheses, lists) for _, hypotheses in systems]
    scores = np.array([bleu_of_counts(each.sum(0)) for each in counts])
    resampled = _resampled(counts, samples, seed)  # (systems, samples)
    edges = np.quantile(resampled, [0.025, 0.975], axis=1)
    is_tested = len(lists) >= FEWEST
    return [
        CorpusBleu(
            name,
            Interval(float(scores[i]), float(edges[0, i]), float(edges[1, i])),
            _p_value(scores[i] - scores[0], resampled[i] - resampled[0])
            if i and is_tested
            else None,
            samples,
        )
        for i, (name, _) in enumerate(systems)
    ]


def _resampled(counts: Sequence[np.ndarray], samples: int, seed: int) -> np.ndarray:
    rows = []
    for drawn in drawn_counts(len(counts[0]), samples, seed):
        # float64 holds these sums exactly, and its product is the fast one
        sums = [drawn.astype(np.float64) @ each.astype(np.float64) for each in counts]
        rows.append([[bleu_of_counts(row) for row in each] for each in sums])
    return np.concatenate(rows, axis=1)


def _p_value(total: float, differences: np.ndarray) -> float:
    rounding = 100 * ROUNDING
    if abs(total) <= rounding:
        return 1.0
    return p_value_of(int((differences * np.sign(total) <= rounding).sum()), len(differences))
