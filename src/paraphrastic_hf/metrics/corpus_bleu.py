"""Corpus BLEU with confidence intervals (Koehn, 2004, section 3) and significance tests.

Corpus BLEU is computed from counts of n-grams and tokens summed over all segments. It is not a mean
of segment scores, so resampling works on the counts of each segment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.metrics.resampling import Interval, Sums, confidence_interval, p_value

ORDER = 4  # n-grams of one to four words


@dataclass(frozen=True)
class CorpusBleu:
    """Corpus BLEU of one system."""

    name: str
    bleu: Interval  # 95 %, 0 to 100
    p_value: float | None  # two-sided, of the difference to the first system
    samples: int  # number of resamples


def bleu_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Count n-grams for BLEU in each segment, (segments, 10), with sacrebleu's 13a tokens.

    The columns are: length of the hypothesis, length of the closest reference, numbers of matching
    n-grams (n = 1 to 4), numbers of all n-grams (n = 1 to 4).
    """
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    metric = BLEU(effective_order=True)  # does not affect the counts
    found = [
        metric.sentence_score(h, list(rs)) for h, rs in zip(hypotheses, references, strict=True)
    ]
    return np.array([[x.sys_len, x.ref_len, *x.counts, *x.totals] for x in found], np.int64)


def bleu_of_counts(counts: np.ndarray) -> np.ndarray:
    """Compute corpus BLEU, 0 to 100, from summed `bleu_counts`, (..., 10), as sacrebleu does."""
    counts = np.asarray(counts, np.float64)
    length, reference = counts[..., 0], counts[..., 1]
    matching, there = counts[..., 2 : 2 + ORDER], counts[..., 2 + ORDER :]
    # the k-th order without a match counts as 1 / 2**k matches
    smoothed = np.where(matching > 0, matching, 0.5 ** (matching == 0).cumsum(-1))
    is_scored = np.asarray((there > 0).all(-1) & (matching > 0).any(-1))
    precision = np.where(is_scored[..., None], smoothed / np.maximum(there, 1), 1)
    brevity = np.minimum(0, 1 - reference / np.maximum(length, 1))
    bleu = 100 * np.exp(np.log(precision).mean(-1) + brevity)
    return np.asarray(np.where(is_scored, bleu, 0.0))


class BleuCounts(Sums):
    """The statistics of `bleu_counts`, whose score is corpus BLEU."""

    def __init__(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        self.rows = bleu_counts(hypotheses, references).astype(np.float64)

    def score_of(self, sums: np.ndarray) -> np.ndarray:
        return bleu_of_counts(sums)


def compare_bleu(
    systems: Sequence[tuple[str, Sequence[str]]],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[CorpusBleu]:
    """Return the corpus BLEU of each system, with intervals and p-values against the first system.
    All systems share the drawn segments.
    """
    lists = [[each] if isinstance(each, str) else list(each) for each in references]
    counts = [BleuCounts(hypotheses, lists) for _, hypotheses in systems]
    return [
        CorpusBleu(
            name,
            confidence_interval(own, samples=samples, seed=seed),
            p_value(own, counts[0], samples=samples, seed=seed) if own is not counts[0] else None,
            samples,
        )
        for (name, _), own in zip(systems, counts, strict=True)
    ]
