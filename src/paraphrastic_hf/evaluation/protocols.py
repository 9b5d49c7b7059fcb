"""How a classifier on frozen embeddings gets its penalty and its score: SentEval's three ways.

Conneau and Kiela. 2018. SentEval. LREC; logistic regression, its grids of C and ten folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.encoding.vectors import checked_vectors
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.classifiers import Classifiers, Regression, fit

FOLDS = 10
SEED = 1111  # SentEval's
GRID = tuple(2.0**power for power in range(-2, 4))  # nested folds, and given validation sets
GRID_FOLDS = tuple(2.0**power for power in range(-1, 6))  # folds of a training set


def embed(encoder: Any, *sides: Sequence[str]) -> list[np.ndarray]:
    """Vectors of lists of texts, (texts, dim) float32 each, every text encoded once.

    Raises:
        ModelError: The encoder returns something else than finite vectors.
    """
    texts = sorted({text for side in sides for text in side})
    place = {text: i for i, text in enumerate(texts)}
    vectors = checked_vectors(encoder.encode(texts), len(texts)).astype(np.float32, copy=False)
    return [vectors[[place[text] for text in side]] for side in sides]


def pair_features(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """|u - v| and u * v, (pairs, 2 dim)."""
    return np.concatenate([np.abs(first - second), first * second], 1)


def stratified_folds(labels: np.ndarray, folds: int) -> np.ndarray:
    """The fold of each example, from 0; every fold has its share of every class.

    Raises:
        DataError: There are fewer examples than folds.
    """
    if len(labels) < folds:
        raise DataError(f"{len(labels)} examples are too few for {folds} folds")
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.int64)
    fold[order] = np.arange(len(labels)) % folds
    return fold


def nested_folds(
    features: np.ndarray, labels: np.ndarray, classes: int
) -> tuple[Classifiers, np.ndarray]:
    """A classifier for each of ten folds, fitted on the other nine, with C from folds of those.

    Returns:
        The ten, and the fold of each example.
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
    """Mean of the folds' accuracies x 100, each by the classifier that has not seen it."""
    right = classifiers.classes(features) == labels[:, None]
    return float(np.mean([right[fold == i, i].mean() for i in range(len(classifiers))]) * 100)


def fitted_by_folds(features: np.ndarray, labels: np.ndarray, classes: int) -> Classifiers:
    """A classifier of a training set, with C from its ten folds."""
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
    """A classifier of a training set (features and labels), with C from a validation set."""
    everything = np.ones(len(train[1]), bool)
    fitted = fit(*train, classes, [Regression(everything, strength) for strength in GRID])
    right = fitted.classes(validation[0]) == validation[1][:, None]
    return fitted.only(best_of(right.mean(0)))


def best_of(scores: np.ndarray) -> int:
    """The first of the best, in hundredths of a per cent as SentEval rounds them."""
    return int(np.argmax(np.round(scores * 100, 2)))


def accuracy(classifiers: Classifiers, features: np.ndarray, labels: np.ndarray) -> float:
    """Of the first classifier, x 100."""
    return float((classifiers.classes(features)[:, 0] == labels).mean() * 100)
