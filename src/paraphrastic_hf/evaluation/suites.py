"""Named suites: which datasets, how they are averaged, and what the thesis reports on them.

A suite is a reader of datasets; scoring (`evaluation/similarity.py`) and writing
(`evaluation/report.py`) are the same for all.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import paraphrastic_hf
from paraphrastic_hf.data.sts_files import (
    STS_DATASETS,
    STSB_SPLITS,
    ScoredPairs,
    read_sts,
    read_sts17,
    read_stsb,
)
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.evaluation.similarity import Encode, SuiteScore, score_suite

YEARS = tuple(STS_DATASETS)
CONVENTIONS = {
    "mean": "thesis: unweighted mean of the datasets' Pearson r, then of the years",
    "weighted_mean": "pair-weighted mean of the datasets' Pearson r, then mean of the years",
    "all_pearson": "Pearson r over all pairs of a year, then mean of the years",
    "all_spearman": "MTEB: Spearman rho over all pairs of a year, then mean of the years",
}


@dataclass(frozen=True)
class PaperRow:
    """A system's published STS 2012-2016 scores by year (Pearson r x 100, thesis convention)."""

    name: str
    years: tuple[float, float, float, float, float]


PAPER_ROWS = (
    PaperRow("thesis SP (Table 48)", (68.4, 60.3, 75.1, 78.7, 76.8)),
    PaperRow("thesis BGT (Table 48)", (68.9, 62.2, 75.9, 79.4, 79.3)),
    PaperRow("thesis WORD, TRIGRAM on ParaNMT (Table 32)", (67.8, 62.7, 77.4, 80.3, 78.1)),
)


def sts_suite(data_dir: str | Path) -> list[ScoredPairs]:
    """STS 2012-2016, STS Benchmark dev and test, and the seven tracks of STS 2017."""
    stsb = [read_stsb(data_dir, split) for split in STSB_SPLITS]
    return [*read_sts(data_dir), *stsb, *read_sts17(data_dir)]


SUITES: dict[str, Callable[[str | Path], list[ScoredPairs]]] = {"sts": sts_suite}


def evaluate(
    encoder: Any, suite: str, data_dir: str | Path, *, name: str | None = None
) -> dict[str, Any]:
    """Score any object with `encode(list[str])` on a suite.

    Args:
        encoder: A `SentenceEncoder`, a `SentenceTransformer`, or anything whose `encode` returns
            one vector a text.
        suite: `sts`.
        data_dir: Folder of the official files, such as the `eval` folder of a data root.
        name: What to call the encoder in the report.

    Returns:
        Settings and scores, ready for JSON: `averages`, `groups`, `datasets`.

    Raises:
        RecipeError: There is no such suite.
        DataError: A file is missing or does not align.
        ModelError: `encode` returns something else than finite vectors.
    """
    if suite not in SUITES:
        raise RecipeError(f"there is no suite {suite!r}; the suites are {', '.join(SUITES)}")
    encode: Encode = encoder.encode
    score = score_suite(encode, SUITES[suite](data_dir))
    return {
        "model": name or type(encoder).__name__,
        "suite": suite,
        "encoder": f"{type(encoder).__module__}.{type(encoder).__name__}",
        "data_dir": Path(data_dir).name,
        "averages": {convention: score.average(YEARS, convention) for convention in CONVENTIONS},
        "conventions": CONVENTIONS,
        "notes": _notes(score),
        "groups": [asdict(group) for group in score.groups],
        "datasets": [asdict(dataset) for dataset in score.datasets],
        "versions": {
            "paraphrastic_hf": paraphrastic_hf.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "torch", "transformers")},
        },
    }


def _notes(score: SuiteScore) -> list[str]:
    has_smt = any(d.group == "2013" and d.name == "SMT" for d in score.datasets)
    return (
        [] if has_smt else ["STS13 SMT is not in the data folder: 24 datasets, not the thesis's 25"]
    )
