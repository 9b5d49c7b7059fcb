"""Metrics of other libraries that compare words or characters (thesis, Table 66)."""

from collections.abc import Callable, Sequence

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError

SegmentScores = Callable[[Sequence[str], Sequence[Sequence[str]]], np.ndarray]
Score = Callable[[str, Sequence[str]], float]  # of a hypothesis and its references, 0 to 100


def sentence_bleu() -> Score:
    from sacrebleu.metrics import BLEU  # type: ignore[attr-defined]

    metric = BLEU(effective_order=True)
    return lambda hypothesis, references: metric.sentence_score(hypothesis, references).score


def chrf() -> Score:
    from sacrebleu.metrics import CHRF  # type: ignore[attr-defined]

    metric = CHRF()
    return lambda hypothesis, references: metric.sentence_score(hypothesis, references).score


def meteor() -> Score:
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    cut = TreebankWordTokenizer().tokenize
    return lambda hypothesis, references: (
        100 * meteor_score([cut(each) for each in references], cut(hypothesis))
    )


MATCHING: dict[str, Callable[[], Score]] = {"BLEU": sentence_bleu, "chrF": chrf, "METEOR": meteor}


def load_matching(name: str, *, progress: bool = False) -> SegmentScores:
    """Load a metric of `MATCHING`, which returns scores, (segments,), 0 to 100."""
    try:
        score = MATCHING[name]()
        score("a", ["b"])
    except ImportError as error:
        raise DataError(
            f"{name} requires {error.name}: pip install 'paraphrastic-hf[compare]'"
        ) from error
    except (LookupError, OSError) as error:  # nltk's data
        raise DataError(
            f"{name} requires WordNet. Run python -m nltk.downloader wordnet, or set NLTK_DATA to "
            "the folder that contains it"
        ) from error

    def scores(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
        bar = tqdm(hypotheses, desc=name, disable=not progress)
        found = [score(h, list(rs)) for h, rs in zip(bar, references, strict=True)]
        return np.array(found, np.float64)

    return scores
