"""STS 2012-2017 and the STS Benchmark: datasets, averages and what the thesis reports (2.1.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.data.sts_files import (
    STS_DATASETS,
    STSB_SPLITS,
    read_sts17,
    read_sts_year,
    read_stsb,
)
from paraphrastic_hf.evaluation.pairs import WHOLE, PairsTask
from paraphrastic_hf.evaluation.suite import Row, Suite, mean_of, weighted_mean_of

YEARS = tuple(STS_DATASETS)
AVERAGE = "2012-2016"
CONVENTIONS = {
    AVERAGE: "thesis: unweighted mean of a year's datasets (Pearson r), then of the years",
    "weighted": "mean weighted by pairs of a year's datasets (Pearson r), then of the years",
    "Pearson, all": "Pearson r over all pairs of a year, then mean of the years",
    "MTEB": "Spearman rho over all pairs of a year, then mean of the years",
}


def sts_headline(rows: Sequence[Row]) -> dict[str, float]:
    """Return the figures of the years, of their average in four conventions, of STS-B test and of
    STS17 en-en."""
    single = [row for row in rows if row.name != WHOLE]
    whole = [row for row in rows if row.name == WHOLE]
    years = {year: mean_of(single, "pearson", year) for year in YEARS}
    weighted = [weighted_mean_of(single, "pearson", year) for year in YEARS]
    others = {f"{row.group} {row.name}": row.scores["pearson"] for row in single}
    return {
        **years,
        AVERAGE: float(np.mean(list(years.values()))),
        "weighted": float(np.mean(weighted)),
        "Pearson, all": float(np.mean([mean_of(whole, "pearson", year) for year in YEARS])),
        "MTEB": float(np.mean([mean_of(whole, "spearman", year) for year in YEARS])),
        **{name: others.get(name, float("nan")) for name in ("STS-B test", "STS17 en-en")},
    }


def _year(year: str) -> PairsTask:
    return PairsTask(lambda data_dir: read_sts_year(data_dir, year), has_whole=True)


def _paper(*years: float, **others: float) -> dict[str, float]:
    return {**dict(zip(YEARS, years, strict=True)), AVERAGE: float(np.mean(years)), **others}


STS = Suite(
    "STS 2012-2016, STS Benchmark and STS 2017: correlation with human similarity (2.1.1)",
    "Pearson r x 100; MTEB: Spearman rho x 100",
    {
        **{year: _year(year) for year in YEARS},
        "STS-B": PairsTask(lambda data_dir: [read_stsb(data_dir, split) for split in STSB_SPLITS]),
        "STS17": PairsTask(read_sts17),
    },
    sts_headline,
    {
        "thesis SP (Table 48)": _paper(68.4, 60.3, 75.1, 78.7, 76.8),
        "thesis BGT (Table 48)": _paper(68.9, 62.2, 75.9, 79.4, 79.3),
        "thesis WORD, TRIGRAM on ParaNMT (Table 32)": _paper(67.8, 62.7, 77.4, 80.3, 78.1),
    },
    notes=(
        *(f"{name}: {text}." for name, text in CONVENTIONS.items()),
        "STS-B dev is no test: 1,131 of its 1,500 pairs are in STS 2012-2016, 125 in STS17 en-en.",
        "The thesis has 25 datasets; where SMT of 2013 is not in the data folder there are 24.",
    ),
)
