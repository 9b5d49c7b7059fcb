"""Transfer: classifiers on frozen embeddings, with SentEval's protocol (thesis, 4.9.2, Table 39).

The classifiers are logistic regressions. Pairs have the features |u - v| and u * v. Relatedness is
predicted as a distribution over the scores 1 to 5, whose mean is the predicted score (Tai, Socher
and Manning, 2015, ACL).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.evaluation.measures.classifiers import Regression, fit
from paraphrastic_hf.evaluation.measures.protocols import (
    accuracy,
    embed,
    fitted_by_folds,
    fitted_by_validation,
    held_out_accuracy,
    nested_folds,
    pair_features,
)
from paraphrastic_hf.evaluation.measures.similarity import pearson, spearman
from paraphrastic_hf.evaluation.suite import CLASSIFICATION, Row, Suite, Task

SPLITS = ("train", "validation", "test")
TRAIN_TEST = ("train", "test")
SCORES = 5  # relatedness scores are 1 to 5
STRENGTHS = tuple(2.0**power for power in range(-2, 11))

Columns = dict[str, list[Any]]


def read_columns(name: str, config: str | None, split: str, data_dir: Path) -> Columns:
    rows = list(load_dataset(name, config, split, data_dir=data_dir, streaming=True))
    return {column: [row[column] for row in rows] for column in (rows[0] if rows else ())}


def _task(
    name: str, corpus: str, config: str | None = None, *, splits: Sequence[str], classes: int = 2
) -> Task:
    """Make a classification task. The splits determine how C is selected (see the notes)."""

    def task(encoder: Any, data_dir: Path) -> list[Row]:
        tables = [read_columns(corpus, config, split, data_dir) for split in splits]
        labels = [np.array(table["label"]) for table in tables]
        features = _embed(encoder, tables)
        test = features[-1], labels[-1]
        if len(splits) == 1:
            scores = {"accuracy": held_out_accuracy(*nested_folds(*test, classes), *test)}
            return [Row("10 folds", name, len(labels[0]), scores)]
        if len(splits) == 2:
            fitted = fitted_by_folds(features[0], labels[0], classes)
        else:
            train, validation, _ = zip(features, labels, strict=True)
            fitted = fitted_by_validation(train, validation, classes)
        scores = {"accuracy": accuracy(fitted, *test)}
        if name == "MRPC":
            scores["F1"] = f1_score(fitted.classes(test[0])[:, 0], test[1])
        return [Row("test set", name, len(labels[-1]), scores)]

    return task


def _relatedness(encoder: Any, data_dir: Path) -> list[Row]:
    tables = [read_columns("sick", None, split, data_dir) for split in SPLITS]
    train, validation, test = _embed(encoder, tables)
    gold = [np.array(table["score"]) for table in tables]
    everything = np.ones(len(train), bool)
    regressions = [Regression(everything, strength) for strength in STRENGTHS]
    fitted = fit(train, score_distribution(gold[0]), SCORES, regressions)
    guesses = fitted.probabilities(validation) @ np.arange(1, SCORES + 1)
    best = max(range(len(fitted)), key=lambda i: pearson(guesses[:, i], gold[1]))
    found = fitted.only(best).probabilities(test)[:, 0] @ np.arange(1, SCORES + 1)
    scores = {"pearson": pearson(found, gold[2]), "spearman": spearman(found, gold[2])}
    return [Row("test set", "SICK-R", len(test), scores)]


def score_distribution(scores: np.ndarray) -> np.ndarray:
    """Return, for each score, the distribution over 1 to 5 whose mean is the score, (examples, 5).

    Only the two neighboring integers have a probability: 3.6 gives p(3) = 0.4 and p(4) = 0.6.
    """
    whole = np.minimum(np.floor(scores).astype(int), SCORES - 1)
    distribution = np.zeros((len(scores), SCORES))
    rows = np.arange(len(scores))
    distribution[rows, whole - 1] = whole + 1 - scores
    distribution[rows, whole] = scores - whole
    return distribution


def f1_score(found: np.ndarray, gold: np.ndarray) -> float:
    """Return F1 x 100 of class 1, or 0 if class 1 is neither predicted nor gold."""
    both = int((found & gold).sum())
    either = int(found.sum() + gold.sum())
    return 200 * both / either if either else 0.0


def _embed(encoder: Any, tables: Sequence[Columns]) -> list[np.ndarray]:
    """Return the features of the texts or pairs of each table."""
    if "text" in tables[0]:
        return embed(encoder, *(table["text"] for table in tables))
    sides = embed(encoder, *(t[side] for t in tables for side in ("sentence1", "sentence2")))
    return [pair_features(*sides[i : i + 2]) for i in range(0, len(sides), 2)]


TASKS: dict[str, Task] = {
    **{n: _task(n, n.lower(), splits=("train",)) for n in ("MR", "CR", "SUBJ", "MPQA")},
    "SST": _task("SST", "sst", "phrases", splits=SPLITS),
    "TREC": _task("TREC", "trec", "coarse", splits=TRAIN_TEST, classes=6),
    "MRPC": _task("MRPC", "mrpc", splits=TRAIN_TEST),
    "SICK-R": _relatedness,
    "SICK-E": _task("SICK-E", "sick", splits=SPLITS, classes=3),
    "SST-5": _task("SST-5", "sst", "fine", splits=SPLITS, classes=5),
}
TABLE_39 = ("MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "MRPC F1", "SICK-R", "SICK-E")
# Figures other than the accuracy of the task with their name -> task and measure.
FIGURES = {"MRPC F1": ("MRPC", "F1"), "SICK-R": ("SICK-R", "pearson")}


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    scores = {row.name: row.scores for row in rows}
    places = {name: FIGURES.get(name, (name, "accuracy")) for name in (*TABLE_39, "SST-5")}
    return {
        name: scores.get(task, {}).get(measure, float("nan"))
        for name, (task, measure) in places.items()
    }


def _paper(*scores: float) -> dict[str, float]:
    return dict(zip(TABLE_39, scores, strict=True))


TRANSFER = Suite(
    "Classification on frozen embeddings, by SentEval's tasks and protocol (4.9.2)",
    "Accuracy x 100; MRPC F1: F1 x 100; SICK-R: Pearson r x 100",
    TASKS,
    _headline,
    {
        "thesis WORD, 300 (Table 39)": _paper(
            75.8, 80.5, 89.2, 87.1, 80.0, 80.1, 68.6, 80.9, 83.6, 80.6
        ),
        "thesis WORD, TRIGRAM, 600 (Table 39)": _paper(
            75.8, 80.5, 89.9, 87.8, 79.7, 82.4, 70.7, 81.7, 84.6, 82.0
        ),
        "thesis BLSTM avg, 4096 (Table 39)": _paper(
            77.5, 82.6, 91.0, 89.3, 82.8, 86.8, 75.8, 82.6, 85.9, 83.8
        ),
        "InferSent AllNLI, 4096 (Table 39)": _paper(
            81.1, 86.3, 92.4, 90.2, 84.6, 88.2, 76.2, 83.1, 88.4, 86.3
        ),
    },
    notes=(
        "Logistic regression with an L2 penalty. MR, CR, SUBJ, MPQA: ten folds, C selected on ten "
        "folds of the other nine. TREC, MRPC: C selected on ten folds of the training set. SST, "
        "SICK: C selected on the validation set. Values of C as in SentEval for scikit-learn: 1/4 "
        "to 8, for TREC and MRPC 1/2 to 32.",
        "SST trains on phrases of the training trees, as in SentEval, SST-5 on sentences.",
        "More than two classes: softmax without a penalty on intercepts. SentEval's scikit-learn "
        "fits one classifier per class and penalizes intercepts.",
        "SICK-R: Kullback-Leibler divergence from the distribution of scores, C (1/4 to 1024) "
        "selected by Pearson's r on the validation set. SentEval uses squared errors with early "
        "stopping, without a penalty.",
    ),
    hub_task=CLASSIFICATION,
)
