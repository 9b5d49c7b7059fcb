import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.classifiers import Regression, fit
from paraphrastic_hf.evaluation.measures.protocols import (
    FOLDS,
    GRID,
    GRID_FOLDS,
    accuracy,
    fitted_by_folds,
    fitted_by_validation,
    held_out_accuracy,
    nested_folds,
    stratified_folds,
)

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def reset_the_generator():
    RANDOM.bit_generator.state = np.random.default_rng(5).bit_generator.state


def made(rows, dim, classes):
    """Return noisy classes, and features with different scales and a nonzero mean."""
    features = RANDOM.normal(size=(rows, dim)) * np.geomspace(2, 0.05, dim) + 0.3
    directions = RANDOM.normal(size=(dim, classes))
    labels = (features @ directions + RANDOM.gumbel(size=(rows, classes))).argmax(1)
    return features.astype(np.float32), labels


def objective(features, labels, weights, bias, strength):
    """Return C times the sum of losses plus half the squared (classes, dim) weights."""
    scores = features.astype(np.float64) @ weights.T + bias
    if scores.shape[1] == 1:
        losses = np.logaddexp(0, np.where(labels == 1, -1, 1) * scores[:, 0])
    else:
        losses = np.logaddexp.reduce(scores, 1) - scores[np.arange(len(labels)), labels]
    return float(strength * losses.sum() + (weights**2).sum() / 2)


@pytest.mark.parametrize("classes", [2, 5])
def test_every_regression_equals_scikit_learns(classes):
    features, labels = made(600, 20, classes)
    regressions = [
        Regression(RANDOM.random(600) < 0.8, strength) for strength in GRID_FOLDS for _ in range(3)
    ]
    found = fit(features, labels, classes, regressions)
    for number, regression in enumerate(regressions):
        rows = features[regression.rows].astype(np.float64), labels[regression.rows]
        oracle = LogisticRegression(C=regression.strength, tol=1e-9, max_iter=10_000).fit(*rows)
        ours = found.weights[:, number].T.astype(np.float64), found.intercepts[number]
        best = objective(*rows, oracle.coef_, oracle.intercept_, regression.strength)
        # `fit` stops when a step gains little. With the weakest penalties 2e-4 remain.
        assert objective(*rows, *ours, regression.strength) == pytest.approx(best, rel=3e-4)
        chosen = found.classes(features)[:, number] == oracle.predict(features)
        assert chosen.mean() > 0.99  # the rest is on the border
        np.testing.assert_allclose(
            found.probabilities(features)[:, number], oracle.predict_proba(features), atol=0.02
        )


def test_a_distribution_as_target_equals_weighted_examples():
    features, _ = made(200, 6, 3)
    shares = RANDOM.dirichlet(np.ones(3), 200)
    found = fit(features, shares, 3, [Regression(np.ones(200, bool), 2.0)])
    oracle = LogisticRegression(C=2.0, tol=1e-9, max_iter=10_000).fit(
        np.repeat(features, 3, 0).astype(np.float64), np.tile(np.arange(3), 200), shares.ravel()
    )
    np.testing.assert_allclose(
        found.probabilities(features)[:, 0], oracle.predict_proba(features), atol=0.01
    )


def test_the_batch_does_not_change_a_regression(monkeypatch):
    features, labels = made(400, 10, 3)
    regressions = [Regression(RANDOM.random(400) < 0.7, strength) for strength in GRID]
    whole = fit(features, labels, 3, regressions).probabilities(features)
    monkeypatch.setattr("paraphrastic_hf.evaluation.measures.classifiers.MOST_WEIGHTS", 1)
    monkeypatch.setattr("paraphrastic_hf.evaluation.measures.classifiers.MOST_SCORES", 1)
    one_by_one = fit(features, labels, 3, regressions).probabilities(features)
    np.testing.assert_allclose(whole, one_by_one, atol=0.01)


def test_folds_are_stratified_and_reproducible():
    labels = RANDOM.integers(0, 3, 500)
    fold = stratified_folds(labels, 10)
    for label in range(3):
        counts = np.bincount(fold[labels == label], minlength=10)
        assert np.ptp(counts) <= 1
    assert np.ptp(np.bincount(fold)) == 0
    assert (fold == stratified_folds(labels, 10)).all()
    with pytest.raises(DataError):
        stratified_folds(labels[:9], 10)


def grid_search(features, labels, grid):
    """Search with scikit-learn over our ten folds."""
    search = GridSearchCV(
        LogisticRegression(tol=1e-8, max_iter=10_000),
        {"C": grid},
        cv=PredefinedSplit(stratified_folds(labels, FOLDS)),
    )
    return search.fit(features.astype(np.float64), labels)


def test_nested_folds_equal_a_grid_search_in_each_fold():
    features, labels = made(200, 6, 2)
    classifiers, fold = nested_folds(features, labels, 2)
    right = classifiers.classes(features) == labels[:, None]
    ours = held_out_accuracy(classifiers, fold, features, labels)
    assert ours == pytest.approx(100 * np.mean([right[fold == n, n].mean() for n in range(FOLDS)]))
    for number in (0, FOLDS - 1):
        seen = fold != number
        search = grid_search(features[seen], labels[seen], GRID)
        score = search.score(features[~seen], labels[~seen])
        # One of 20 may be on the border.
        assert right[~seen, number].mean() == pytest.approx(score, abs=0.051)


def test_training_folds_choose_the_penalty_as_scikit_learn_does():
    features, labels = made(400, 8, 4)
    train, test = slice(None, 300), slice(300, None)
    search = grid_search(features[train], labels[train], GRID_FOLDS)
    found = fitted_by_folds(features[train], labels[train], 4)
    ours = accuracy(found, features[test], labels[test])
    assert ours == pytest.approx(100 * search.score(features[test], labels[test]), abs=2.01)


def test_the_validation_set_chooses_the_penalty():
    features, labels = made(60, 40, 2)
    noise = RANDOM.permutation(labels)
    found = fitted_by_validation((features, noise), (features, noise), 2)
    every = fit(features, noise, 2, [Regression(np.ones(60, bool), c) for c in GRID])
    right = (every.classes(features) == noise[:, None]).mean(0)
    assert accuracy(found, features, noise) == pytest.approx(100 * right.max())
