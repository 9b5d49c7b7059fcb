"""STS 2012-2017 and the STS Benchmark: datasets, averages and the thesis's figures (2.1.1)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import (
    STS_DATASETS,
    STSB_SPLITS,
    read_sts17,
    read_sts_year,
    read_stsb,
)
from paraphrastic_hf.errors import MissingFileError
from paraphrastic_hf.evaluation.measures.similarity import WHOLE
from paraphrastic_hf.evaluation.suite import Row, Suite, mean_of, weighted_mean_of
from paraphrastic_hf.evaluation.suites.pairs import PairsTask, corpus_task

YEARS = tuple(STS_DATASETS)
AVERAGE = "2012-2016"
SICK_AND_TWITTER = {"SICK": "sick", "Twitter": "twitter"}  # group of the scores -> corpus
ALL_22 = "22 datasets"
WITHOUT_TWITTER = "21 datasets, no Twitter"
ABSENT: dict[str, set[tuple[str, str]]] = {  # name of the mean -> missing datasets
    ALL_22: set(),
    WITHOUT_TWITTER: {("Twitter", "test")},
    "20 datasets, no Twitter nor SMT": {("Twitter", "test"), ("2013", "SMT")},
}
CONVENTIONS = {
    ALL_22: "unweighted mean of Pearson r over the 20 datasets of STS 2012-2015, plus SICK and "
    "Twitter (3.2.2, 2017 paper)",
    AVERAGE: "thesis: unweighted mean over a year's datasets (Pearson r), then over the years",
    "weighted": "mean weighted by pairs over a year's datasets (Pearson r), then over the years",
    "Pearson, all": "Pearson r over all pairs of a year, then mean over the years",
    "MTEB": "Spearman rho over all pairs of a year, then mean over the years",
}


def sts_headline(rows: Sequence[Row]) -> dict[str, float]:
    """Return the main figures: means of years, overall averages, STS-B test and STS17 en-en."""
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
        **mean_of_22(single),
        **{name: others.get(name, float("nan")) for name in ("STS-B test", "STS17 en-en")},
    }


def mean_of_22(rows: Sequence[Row]) -> dict[str, float]:
    """Average Pearson r over the datasets of thesis 3.2.2: the 20 of STS 2012-2015, SICK, Twitter.

    SMT of 2013 and Twitter are not freely available. `ABSENT` names the mean after the datasets
    that are missing. The result has the mean under the name that applies, and NaN under the others.
    """
    found = {(row.group, row.name): row.scores["pearson"] for row in rows}
    wanted = [(year, name) for year in YEARS[:-1] for name in STS_DATASETS[year]]
    wanted += [(group, "test") for group in SICK_AND_TWITTER]
    lacking = {place for place in wanted if place not in found}
    values = [found[place] for place in wanted if place in found]
    return {
        name: float(np.mean(values)) if lacking == absent else float("nan")
        for name, absent in ABSENT.items()
    }


def _sick_and_twitter(encoder: Any, data_dir: Path) -> list[Row]:
    """Return the scores of SICK and Twitter. A corpus without files is left out."""
    rows: list[Row] = []
    for group, corpus in SICK_AND_TWITTER.items():
        try:
            rows += corpus_task(corpus, name="test", group=group)(encoder, data_dir)
        except MissingFileError:
            continue
    return rows


def _of_22(mean: float, twitter: float) -> dict[str, float]:
    """Return a published mean of 22 datasets, and the mean without Twitter computed from it."""
    return {ALL_22: mean, WITHOUT_TWITTER: (22 * mean - twitter) / 21}


def _paper(*years: float, **others: float) -> dict[str, float]:
    return {**dict(zip(YEARS, years, strict=True)), AVERAGE: float(np.mean(years)), **others}


STS = Suite(
    "STS 2012-2016, STS Benchmark and STS 2017: correlation with human similarity (2.1.1)",
    "Pearson r x 100; MTEB: Spearman rho x 100",
    {
        **{year: PairsTask(partial(read_sts_year, year=year), has_whole=True) for year in YEARS},
        "STS-B": PairsTask(lambda data_dir: [read_stsb(data_dir, split) for split in STSB_SPLITS]),
        "STS17": PairsTask(read_sts17),
        "SICK and Twitter": _sick_and_twitter,
    },
    sts_headline,
    {
        "thesis SP (Table 48)": _paper(68.4, 60.3, 75.1, 78.7, 76.8),
        "thesis BGT (Table 48)": _paper(68.9, 62.2, 75.9, 79.4, 79.3),
        "thesis WORD, TRIGRAM on ParaNMT (Table 32)": _paper(67.8, 62.7, 77.4, 80.3, 78.1),
        "thesis PARAGRAM-PHRASE (Table 16)": _of_22(66.2, 52.7),
        "thesis CHARAGRAM-PHRASE (Table 16)": _of_22(68.7, 53.6),
        "2017 paper AVG, tuned on STS 2016 (Tables 2, 4)": {ALL_22: 68.4, WITHOUT_TWITTER: 69.6},
        "2017 paper LSTM AVG, tuned on STS 2016 (Tables 2, 4)": {
            ALL_22: 68.6,
            WITHOUT_TWITTER: 70.8,
        },
        "2017 paper GRAN, tuned on STS 2016 (Tables 3, 4)": {ALL_22: 68.9, WITHOUT_TWITTER: 70.6},
    },
    notes=(
        *(f"{name}: {text}." for name, text in CONVENTIONS.items()),
        "STS-B dev is not a test set: 1,131 of its 1,500 pairs are in STS 2012-2016, 125 in STS17 "
        "en-en.",
        "Without Twitter (PIT-2015) or SMT of 2013 in the data folder, the mean of 22 datasets "
        "has fewer, and another name. A paper's 21 datasets exclude Twitter; the 2017 paper's are "
        "those of Table 4, with a higher mean than in Tables 2 and 3.",
        "The thesis has 25 datasets; without SMT of 2013 there are 24.",
    ),
)
