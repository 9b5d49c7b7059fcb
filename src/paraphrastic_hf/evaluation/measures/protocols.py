"""Three protocols of SentEval for classifiers on frozen embeddings (Conneau and Kiela, 2018, LREC).

The classifiers are logistic regressions with SentEval's values of C and ten folds. `features` are
(examples, dim), and `labels` the classes from 0, (examples,).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.classifiers import Classifiers, Regression, fit
from paraphrastic_hf.evaluation.measures.similarity import encode_once

FOLDS = 10
SEED = 1111  # SentEval's seed
GRID = tuple(2.0**power for power in range(-2, 4))  # C for nested folds and for validation sets
GRID_FOLDS = tuple(2.0**power for power in range(-1, 6))  # C for folds of a training set


def embed(encoder: Any, *sides: Sequence[str]) -> list[np.ndarray]:
    """Encode lists of texts, (texts, dim) float32 each. Every text is encoded only once."""
    vectors_of = encode_once(encoder.encode, (text for side in sides for text in side))
    return [vectors_of(side).astype(np.float32, copy=False) for side in sides]


def pair_features(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the features |u - v| and u * v of pairs, (pairs, 2 dim)."""
    return np.concatenate([np.abs(first - second), first * second], 1)


def stratified_folds(labels: np.ndarray, folds: int) -> np.ndarray:
    """Return the fold of each example, (examples,). Every fold has equal shares of every class."""
    if len(labels) < folds:
        raise DataError(f"{folds} folds require at least {folds} examples, got {len(labels)}")
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.int64)
    fold[order] = np.arange(len(labels)) % folds
    return fold


def nested_folds(
    features: np.ndarray, labels: np.ndarray, classes: int
) -> tuple[Classifiers, np.ndarray]:
    """Fit ten classifiers, one for each fold, on the examples of the other nine folds.

    C is chosen by ten-fold cross-validation within the nine folds. Also return the fold of each
    example, (examples,).
    """
    outer = stratified_folds(labels, FOLDS)
    inner = np.full((FOLDS, len(labels)), -1)
    for fold in range(FOLDS):
        inner[fold, outer != fold] = stratified_folds(labels[outer != fold], FOLDS)
    tests = [inner[fold] == part for fold in range(FOLDS) for part in range(FOLDS)]
    regressions = [
        Regression((inner[number // FOLDS] >= 0) & ~test, strength)
        for number, test in enumerate(tests)
        for strength in GRID
    ]
    found = fit(features, labels, classes, regressions).classes(features)
    right = (found == labels[:, None]).reshape(len(labels), len(tests), len(GRID))
    scores = np.stack([right[test, number].mean(0) for number, test in enumerate(tests)])
    scores = scores.reshape(FOLDS, FOLDS, len(GRID)).mean(1)
    best = [GRID[best_of(score)] for score in scores]
    final = [Regression(outer != fold, best[fold]) for fold in range(FOLDS)]
    return fit(features, labels, classes, final), outer


def held_out_accuracy(
    classifiers: Classifiers, fold: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> float:
    """Return the mean accuracy x 100 of the classifiers, each on its held-out fold."""
    right, tested = held_out_hits(classifiers, fold, features, labels)
    return float(np.mean(right.sum(1) / tested.sum(1)) * 100)


def held_out_hits(
    classifiers: Classifiers, fold: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks, (folds, examples): the held-out examples with the right label, and all."""
    tested = fold == np.arange(len(classifiers))[:, None]
    return (labels == classifiers.classes(features).T) & tested, tested


def fitted_by_folds(features: np.ndarray, labels: np.ndarray, classes: int) -> Classifiers:
    """Fit a classifier on a training set, with C chosen by ten-fold cross-validation."""
    fold = stratified_folds(labels, FOLDS)
    regressions = [Regression(fold != i, strength) for i in range(FOLDS) for strength in GRID_FOLDS]
    found = fit(features, labels, classes, regressions).classes(features)
    right = (found == labels[:, None]).reshape(len(labels), FOLDS, len(GRID_FOLDS))
    scores = np.mean([right[fold == i, i].mean(0) for i in range(FOLDS)], 0)
    whole = Regression(np.ones(len(labels), bool), GRID_FOLDS[best_of(scores)])
    return fit(features, labels, classes, [whole])


def fitted_by_validation(
    train: tuple[np.ndarray, np.ndarray], validation: tuple[np.ndarray, np.ndarray], classes: int
) -> Classifiers:
    """Fit a classifier on `train`, with C chosen on `validation` (features and labels each)."""
    everything = np.ones(len(train[1]), bool)
    fitted = fit(*train, classes, [Regression(everything, strength) for strength in GRID])
    right = fitted.classes(validation[0]) == validation[1][:, None]
    return fitted.only(best_of(right.mean(0)))


def best_of(scores: np.ndarray) -> int:
    """Return the index of the highest accuracy, rounded to hundredths of a percent (SentEval)."""
    return int(np.argmax(np.round(scores * 100, 2)))


def accuracy(classifiers: Classifiers, features: np.ndarray, labels: np.ndarray) -> float:
    """Return the accuracy x 100 of the first classifier."""
    return float((classifiers.classes(features)[:, 0] == labels).mean() * 100)
