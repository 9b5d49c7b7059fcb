"""Metrics of other libraries that compare words or characters (thesis, Table 66)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError

SegmentScores = Callable[[Sequence[str], Sequence[Sequence[str]]], np.ndarray]


def sentence_bleu(progress: bool = False) -> SegmentScores:
    """Return a function that computes sentence BLEU, 0 to 100, with sacrebleu's defaults."""
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]  # pip install 'paraphrastic-hf[compare]'

    metric = BLEU(effective_order=True)
    return lambda hypotheses, references: _each(metric, hypotheses, references, progress)


def chrf(progress: bool = False) -> SegmentScores:
    """Return a function that computes chrF2, 0 to 100, with sacrebleu's defaults."""
    from sacrebleu.metrics import CHRF  # type: ignore[attr-defined]

    metric = CHRF()
    return lambda hypotheses, references: _each(metric, hypotheses, references, progress)


def meteor(progress: bool = False) -> SegmentScores:
    """Return a function that computes nltk's METEOR, 0 to 100. It needs nltk's WordNet."""
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    cut = TreebankWordTokenizer().tokenize

    def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
        pairs = zip(hypotheses, references, strict=True)
        pairs = tqdm(pairs, total=len(hypotheses), desc="METEOR", disable=not progress)
        return np.array([100 * meteor_score([cut(r) for r in rs], cut(h)) for h, rs in pairs])

    return score


MATCHING: dict[str, Callable[..., SegmentScores]] = {
    "BLEU": sentence_bleu,
    "chrF": chrf,
    "METEOR": meteor,
}


def load_matching(name: str, *, progress: bool = False) -> SegmentScores:
    """Load a metric of `MATCHING`. Raise an error if its libraries or data are not installed.

    Returns:
        A function from hypotheses and their lists of references to scores, (segments,), 0 to 100.
    """
    try:
        score = MATCHING[name](progress)
        score(["a"], [["b"]])
    except ImportError as error:
        raise DataError(
            f"{name} requires {error.name}: pip install 'paraphrastic-hf[compare]'"
        ) from error
    except (LookupError, OSError) as error:  # nltk's data
        raise DataError(
            f"{name} requires WordNet. Run python -m nltk.downloader wordnet, or set NLTK_DATA to "
            "the folder that contains it"
        ) from error
    return score


def _each(
    metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]], progress: bool
) -> np.ndarray:
    pairs = zip(hypotheses, references, strict=True)
    name = type(metric).__name__
    pairs = tqdm(pairs, total=len(hypotheses), desc=name, disable=not progress)  # type: ignore[assignment]
    return np.array([metric.sentence_score(h, list(rs)).score for h, rs in pairs], np.float64)
