"""XNLI: inference learned in English, tested in other languages (thesis, 5.13.2, Table 56).

The development sets are parallel, line by line. A classifier is fitted on nine tenths of the
English set and tested on the last tenth in every language. All vectors are divided by the root mean
square norm of the English vectors, so that the penalty is comparable between models.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import find_source
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.measures.judged import Judged, JudgedTask
from paraphrastic_hf.evaluation.measures.protocols import (
    embed,
    held_out_hits,
    nested_folds,
    pair_features,
)
from paraphrastic_hf.evaluation.suite import CLASSIFICATION, Row, Suite
from paraphrastic_hf.evaluation.suites.transfer import read_columns

CLASSES = 3
THESIS = ("ar", "es", "tr")


def _judged(encoder: Any, data_dir: Path) -> list[Judged]:
    """Return which pairs are labeled correctly in ten-fold cross-validation, for each language."""
    english = read_columns("xnli", "en", "validation", data_dir)
    labels = np.array(english["label"])
    first, second = embed(encoder, english["sentence1"], english["sentence2"])
    length = float(np.sqrt(np.mean([(side**2).sum(1) for side in (first, second)])))
    features = _features(first, second, length)
    classifiers, fold = nested_folds(features, labels, CLASSES)
    judged = []
    for language in find_source("xnli").configs:
        if language != "en":
            try:
                table = read_columns("xnli", language, "validation", data_dir)
            except MissingFileError:
                continue
            if table["label"] != english["label"]:
                raise DataError(f"xnli: {language} and en have different labels")
            first, second = embed(encoder, table["sentence1"], table["sentence2"])
            features = _features(first, second, length)
        right, tested = held_out_hits(classifiers, fold, features, labels)
        judged.append(Judged("XNLI dev", language, "accuracy", right, tested))
    return judged


def _features(first: np.ndarray, second: np.ndarray, length: float) -> np.ndarray:
    """Return the features u, v, |u - v| and u * v, which depend on the order of the sentences."""
    first, second = (side / max(length, np.finfo(np.float32).tiny) for side in (first, second))
    return np.concatenate([first, second, pair_features(first, second)], 1)


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    scores = {row.name: row.scores["accuracy"] for row in rows}
    others = [scores.get(name, float("nan")) for name in THESIS]
    return _paper(scores.get("en", float("nan")), float(np.mean(others))) | scores


def _paper(english: float, others: float) -> dict[str, float]:
    return {"en": english, "ar, es, tr": others}


XNLI = Suite(
    "XNLI: entailment, learned in English and tested in other languages (5.13.2)",
    "Accuracy x 100, chance 33.3; ar, es, tr: their mean",
    {"XNLI dev": JudgedTask(judged=_judged)},
    _headline,
    {
        "thesis MGT, learned from SNLI (Table 56)": _paper(70.8, 63.7),
        "thesis MULTILING. TRANS. (Table 56)": _paper(69.9, 55.0),
        "LASER (Table 56)": _paper(73.9, 71.3),
    },
    notes=(
        "Development sets only: a classifier trained on nine of ten folds of English (2,241 "
        "pairs) is tested on the tenth in every language. The thesis trains on 570,000 pairs of "
        "SNLI and uses the test sets, so its figures are far higher.",
        "Logistic regression on u, v, |u - v| and u * v; C (1/4 to 8) selected on ten folds of "
        "the nine. Vectors are divided by the root mean square length of the English ones.",
        "Languages without files in the data folder are omitted.",
    ),
    hub_task=CLASSIFICATION,
)
