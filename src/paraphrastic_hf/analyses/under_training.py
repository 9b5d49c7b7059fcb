"""Whether a model is weak on words that are rare in its training text (thesis, 3.3.1).

The share of rare words in each dataset is correlated with the difference between the model's score
and the 75th percentile of the task's systems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from paraphrastic_hf.analyses.report import Analysis, Table, scatter
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs, read_sts_year
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.measures.similarity import score_suite
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows, scored_pairs
from paraphrastic_hf.evaluation.suites.sts import SICK_AND_TWITTER
from paraphrastic_hf.io.plots import new_figure, style
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer, word_splitter

RARE = 100  # tokens that training saw fewer times are rare
FEWEST = 4  # minimum number of datasets for a correlation
THESIS = -45.1
PERCENTILE = {  # Table 2: the 75th percentile of the systems of each task
    ("2012", "MSRpar"): 57.6, ("2012", "MSRvid"): 80.3, ("2012", "SMTeuroparl"): 48.1,
    ("2012", "surprise.OnWN"): 65.9, ("2012", "surprise.SMTnews"): 45.4,
    ("2013", "headlines"): 68.3, ("2013", "OnWN"): 64.8, ("2013", "FNWN"): 38.1,
    ("2013", "SMT"): 34.6,
    ("2014", "deft-forum"): 46.8, ("2014", "deft-news"): 74.0, ("2014", "headlines"): 75.4,
    ("2014", "images"): 79.0, ("2014", "OnWN"): 81.1, ("2014", "tweet-news"): 72.2,
    ("2015", "answers-forums"): 68.2, ("2015", "answers-students"): 73.6, ("2015", "belief"): 72.2,
    ("2015", "headlines"): 80.8, ("2015", "images"): 84.3,
    ("SICK", "test"): 79.9, ("Twitter", "test"): 52.5,
}  # fmt: skip


@dataclass(frozen=True)
class Trained:
    """A dataset with its share of rare words and the model's score."""

    group: str
    name: str
    rare: float  # percentage of its words seen fewer than 100 times in training
    pearson: float
    deviation: float  # `pearson` minus the 75th percentile of the task's systems


def read_22(data_dir: str | Path) -> list[ScoredPairs]:
    """Read the datasets of STS 2012-2015, SICK and Twitter that a folder contains."""
    years = ("2012", "2013", "2014", "2015")
    found = [pairs for year in years for pairs in read_sts_year(data_dir, year)]
    for group, corpus in SICK_AND_TWITTER.items():
        try:
            found.append(scored_pairs("test", group, corpus_rows(Path(data_dir), corpus)))
        except MissingFileError:
            continue
    return found


def rare_share(
    counts: np.ndarray, tokenizer: TextTokenizer, texts: Sequence[str], rarely: int = RARE
) -> float:
    """Return the percentage of the words of texts that training saw fewer than `rarely` times.

    Every occurrence of a word counts. Unknown words are rare. Unless the tokenizer is a word
    tokenizer, its tokens count as words.
    """
    special = tokenizer.special
    ids = tokenizer.encode_batch(texts).ids
    ids = ids[~np.isin(ids, [special.pad, *special.start, *special.end])]
    words = len(ids)
    if isinstance(tokenizer, WordTokenizer):  # may leave out unknown words, so count all words
        splitter = word_splitter()
        plain = (normalize(text, tokenizer.lowercase) for text in texts)
        words = sum(len(splitter.pre_tokenize_str(text)) for text in plain)
    if not words:
        raise DataError("The texts contain no words")
    known = ids[ids != special.unknown] if special.unknown is not None else ids
    return 100 * (1 - float((counts[known] >= rarely).sum()) / words)


def under_training(
    encoder: Any, counts: np.ndarray, datasets: Sequence[ScoredPairs], *, name: str
) -> Analysis:
    """Correlate the share of rare words in each dataset with the model's score.

    `counts` has the frequency of each token in the training text, (vocab,). Datasets that are not
    in `PERCENTILE` are left out.
    """
    datasets = [pairs for pairs in datasets if (pairs.group, pairs.name) in PERCENTILE]
    if len(datasets) < FEWEST:
        raise DataError(
            f"Correlations require {FEWEST} datasets of Table 2, got {len(datasets)}. Add STS data"
        )
    found = []
    for pairs, row in zip(datasets, score_suite(encoder.encode, datasets), strict=True):
        score = row.scores["pearson"]
        rare = rare_share(counts, encoder.tokenizer, [*pairs.first, *pairs.second])
        above = score - PERCENTILE[pairs.group, pairs.name]
        found.append(Trained(pairs.group, pairs.name, rare, score, above))
    columns = [each.rare for each in found], [each.deviation for each in found]
    is_constant = any(len(set(column)) == 1 for column in columns)
    rho = None if is_constant else 100 * float(stats.spearmanr(*columns).statistic)
    absent = [
        f"{group} {each}"
        for group, each in PERCENTILE
        if (group, each) not in {(x.group, x.name) for x in found}
    ]
    return Analysis(
        "under-training",
        f"Rare words and scores of {name}",
        [
            Table(
                "correlation",
                "Spearman's rho x 100 of the two columns below",
                ["model", "datasets", "rho"],
                [[name, len(found), rho], ["thesis PARAGRAM-PHRASE", 22, THESIS]],
            ),
            Table(
                "datasets",
                f"Words seen fewer than {RARE} times in training, and Pearson r x 100",
                ["group", "dataset", "rare words, %", "Pearson", "above the 75th percentile"],
                [[x.group, x.name, x.rare, x.pearson, x.deviation] for x in found],
            ),
        ],
        _figure(found),
        [
            "Percentiles are over the systems that took part in each task (Table 2).",
            *([f"Not in the data folder: {', '.join(absent)}."] if absent else []),
        ],
        {"model": name, "rare": RARE},
    )


def _figure(found: Sequence[Trained]) -> Figure:
    figure = new_figure(6.5, 4.5)
    axes = figure.subplots()
    scatter(axes, {f"{x.group} {x.name}": (x.rare, x.deviation) for x in found})
    rare = f"words seen fewer than {RARE} times in training, %"
    style(axes, xlabel=rare, ylabel="Pearson r x 100 above the 75th percentile")
    return figure
