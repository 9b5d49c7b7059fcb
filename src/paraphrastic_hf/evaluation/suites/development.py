"""Development score for model selection, on pairs that are in no reported test set.

It is the unweighted mean of Pearson's r x 100 on STS-B dev, SICK trial and Annotated-PPDB dev,
without pairs of test sets. With `development: clean` in a recipe, training keeps the checkpoint
with the highest score, and tuning keeps the settings with the highest score.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.evaluation.suite import Row, Suite
from paraphrastic_hf.evaluation.suites.pairs import PairsTask, corpus_rows, scored_pairs, scores_of

CORPUS = "clean_development"
GROUP = "development"
SETS = {  # name -> configuration. These sets are smaller than the official ones.
    "clean STS-B dev": "stsb",
    "clean SICK trial": "sick",
    "clean Annotated-PPDB dev": "annotated_ppdb",
}
MEAN = "clean mean"


def read_clean(data_dir: Path) -> list[ScoredPairs]:
    rows = {name: corpus_rows(data_dir, CORPUS, SETS[name], split="validation") for name in SETS}
    return [scored_pairs(name, GROUP, rows[name]) for name in SETS]


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    scores = scores_of(rows, "pearson", GROUP, SETS)
    return {**scores, MEAN: float(np.mean(list(scores.values())))}


DEVELOPMENT = Suite(
    "Development: pairs of STS-B dev, SICK trial and Annotated-PPDB dev that are in no reported "
    "test set",
    "Pearson r x 100; clean mean: unweighted mean of the three",
    {"clean": PairsTask(read_clean)},
    _headline,
    notes=(
        "Not a test set: recipes select models by these pairs (100 of STS-B dev, 482 of SICK "
        "trial, 258 of Annotated-PPDB dev).",
    ),
    hub_task=None,
)
