"""Logistic regressions on the same frozen embeddings, hundreds of fits in parallel.

The fits of nested cross-validation differ only in their examples and penalties, so they are columns
of one matrix product. L-BFGS works in the principal axes of the embeddings, where the curvature is
nearly diagonal and easy to estimate. On CR (3,775 sentences, 610 fits) this takes 2.1 s of
processor time, and `LogisticRegressionCV` of scikit-learn 1.9.1 takes 204 s. Accuracies differ by
less than 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

HISTORY = 6
MOST_STEPS = 100
TOLERANCE = 1e-6  # a fit stops when a step would lower its mean loss by less than this
MOST_WEIGHTS = 2**21  # number of weights fitted in parallel
MOST_SCORES = 2**22  # number of scores in memory at a time
HALVINGS = 20


@dataclass(frozen=True)
class Regression:
    """A regression to fit on the examples where `rows`, (examples,), is True.

    `strength` is C. The objective is C times the sum of the losses plus half the sum of the squared
    weights, without the intercepts.
    """

    rows: np.ndarray
    strength: float


@dataclass(frozen=True)
class Classifiers:
    """Fitted regressions. Two classes have one column of weights, more classes one column each."""

    weights: np.ndarray  # (dim, classifiers, columns) float32
    intercepts: np.ndarray  # (classifiers, columns) float32

    def __len__(self) -> int:
        return len(self.intercepts)

    def only(self, number: int) -> Classifiers:
        """Return the classifier at index `number`, as a `Classifiers` of length 1."""
        chosen = slice(number, number + 1)
        return Classifiers(self.weights[:, chosen], self.intercepts[chosen])

    def classes(self, features: np.ndarray) -> np.ndarray:
        """Return the most probable class of each example, (rows, classifiers)."""
        return np.concatenate(
            [
                scores[..., 0] > 0 if scores.shape[-1] == 1 else scores.argmax(-1)
                for scores in self._scores(features)
            ]
        ).astype(np.int32)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Return the class probabilities of each example, (rows, classifiers, classes)."""
        parts = []
        for scores in self._scores(features):
            if scores.shape[-1] == 1:
                scores = np.concatenate([np.zeros_like(scores), scores], -1)
            parts.append(_softmax(scores)[0])
        return np.concatenate(parts)

    def _scores(self, features: np.ndarray) -> Iterator[np.ndarray]:
        dim, *shape = self.weights.shape
        flat = self.weights.reshape(dim, -1)
        for rows in _chunks(len(features), flat.shape[1]):
            yield (features[rows] @ flat).reshape(-1, *shape) + self.intercepts


def fit(
    features: np.ndarray, targets: np.ndarray, classes: int, regressions: Sequence[Regression]
) -> Classifiers:
    """Fit softmax regressions (logistic ones for two classes) with an L2 penalty.

    Args:
        features: The embeddings, (examples, dim), finite and of any scale.
        targets: Class of each example, (examples,) from 0, or probabilities of the classes,
            (examples, classes). Probabilities are fitted by Kullback-Leibler divergence.
    """
    mean = features.mean(0, dtype=np.float64)
    centered = (features - mean).astype(np.float32)
    eigenvalues, axes = np.linalg.eigh(_gram(centered) / len(centered))
    axes = axes.astype(np.float32)
    # The last column is for the intercept.
    rotated = np.concatenate([centered @ axes, np.ones((len(centered), 1), np.float32)], 1)
    curvature = np.append(np.maximum(eigenvalues, 0), 1)
    columns = 1 if classes == 2 and targets.ndim == 1 else classes
    at_a_time = max(1, MOST_WEIGHTS // (rotated.shape[1] * columns))
    found = [
        _minimize(
            _Losses(rotated, targets, columns, regressions[start : start + at_a_time], curvature)
        )
        for start in range(0, len(regressions), at_a_time)
    ]
    solution = np.concatenate(found, 1)
    weights = np.tensordot(axes, solution[:-1], 1)
    return Classifiers(weights, solution[-1] - np.tensordot(mean, weights, 1).astype(np.float32))


class _Losses:
    def __init__(
        self,
        features: np.ndarray,
        targets: np.ndarray,
        columns: int,
        regressions: Sequence[Regression],
        curvature: np.ndarray,
    ) -> None:
        self.features, self.targets, self.columns = features, targets, columns
        sizes = np.array([regression.rows.sum() for regression in regressions])
        self.shares = np.stack([regression.rows for regression in regressions], 1) / sizes.astype(
            np.float32
        )
        penalty = 1 / (np.array([regression.strength for regression in regressions]) * sizes)
        self.penalty = np.outer(np.ones(features.shape[1]), penalty)[:, :, None]
        self.penalty[-1] = 0
        self.penalty = self.penalty.astype(np.float32)
        total = sum(part.sum(0) for part in map(self._targets, _chunks(len(features), columns)))
        prior = np.clip(total / len(features), 1e-6, 1 - 1e-6)
        self.guess = (
            1 / (curvature[:, None, None] * (prior * (1 - prior)) + self.penalty + 1e-12)
        ).astype(np.float32)  # the inverse curvature at the initial weights
        self.start = np.zeros((features.shape[1], len(regressions), columns), np.float32)
        self.start[-1] = np.log(prior / (1 - prior) if columns == 1 else prior)

    def __call__(
        self, weights: np.ndarray, regressions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return losses, (regressions,), and gradients, (dim, regressions, columns)."""
        dim = len(weights)
        flat = np.ascontiguousarray(weights).reshape(dim, -1)
        shares = self.shares[:, regressions]
        penalty = self.penalty[:, regressions]
        losses = 0.5 * np.einsum("dpk,dpk->p", penalty, weights * weights, dtype=np.float64)
        gradient = np.zeros_like(flat)
        for rows in _chunks(len(self.features), flat.shape[1]):
            block = self.features[rows]
            scores = (block @ flat).reshape(len(block), *weights.shape[1:])
            residual, loss = self._residual(scores, self._targets(rows))
            losses += np.einsum("np,np->p", loss, shares[rows], dtype=np.float64)
            residual *= shares[rows, :, None]
            gradient += block.T @ residual.reshape(len(block), -1)
        return losses, gradient.reshape(weights.shape) + penalty * weights

    def _targets(self, rows: slice) -> np.ndarray:
        """Return the targets of a slice of rows, (rows, columns), one-hot for classes."""
        targets = self.targets[rows]
        if targets.ndim == 2:
            return targets.astype(np.float32)
        if self.columns == 1:
            return targets.astype(np.float32)[:, None]
        return (targets[:, None] == np.arange(self.columns)).astype(np.float32)

    def _residual(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted probabilities minus targets, and losses, (rows, regressions)."""
        wanted = np.einsum("npk,nk->np", scores, targets)
        if self.columns == 1:
            small = np.exp(-np.abs(scores))
            loss = np.maximum(scores[..., 0], 0) + np.log1p(small[..., 0]) - wanted
            probabilities = np.where(scores > 0, 1, small) / (1 + small)
        else:
            probabilities, log_total = _softmax(scores)
            loss = log_total - wanted
        return probabilities - targets[:, None], loss


def _minimize(losses: _Losses) -> np.ndarray:
    result = losses.start
    active = np.arange(result.shape[1])
    weights = result.copy()
    value, gradient = losses(weights, active)
    moves: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(MOST_STEPS):
        step = _direction(gradient, losses.guess[:, active], moves)
        slope = _dot(gradient, step)
        going = -slope / 2 > TOLERANCE
        if not going.all():
            result[:, active[~going]] = weights[:, ~going]
            active, value, slope = active[going], value[going], slope[going]
            weights, gradient, step = (x[:, going] for x in (weights, gradient, step))
            moves = [(move[:, going], turn[:, going]) for move, turn in moves]
        if not len(active):
            return result
        new_value, new_gradient, step = _search(losses, active, weights, value, slope, step)
        moves = [*moves[-HISTORY + 1 :], (step, new_gradient - gradient)]
        weights, value, gradient = weights + step, new_value, new_gradient
    result[:, active] = weights
    return result


def _search(
    losses: _Losses,
    active: np.ndarray,
    weights: np.ndarray,
    value: np.ndarray,
    slope: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Halve each step until its loss decreases enough. Return losses, gradients and step sizes."""
    step = step.copy()
    new_value, new_gradient = losses(weights + step, active)
    size = np.ones(len(active))
    for _ in range(HALVINGS):
        allowed = value + 1e-4 * size * slope + 1e-6 * np.abs(value)  # tolerance of float32 sums
        bad = np.flatnonzero(~(new_value <= allowed))
        if not len(bad):
            break
        size[bad] /= 2
        step[:, bad] /= 2
        again = losses(weights[:, bad] + step[:, bad], active[bad])
        new_value[bad], new_gradient[:, bad] = again
    return new_value, new_gradient, step


def _direction(
    gradient: np.ndarray, guess: np.ndarray, moves: Sequence[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the L-BFGS direction: minus the estimated inverse Hessian times the gradient."""
    step = -gradient
    kept = []
    for move, turn in reversed(moves):
        bend = _dot(move, turn)
        inverse = np.where(bend > 1e-12, 1 / np.maximum(bend, 1e-12), 0)
        share = (inverse * _dot(move, step)).astype(np.float32)
        step -= share[:, None] * turn
        kept.append((move, turn, inverse, share))
    if moves:
        move, turn = moves[-1]
        scale = _dot(move, turn) / np.maximum(_dot(turn, guess * turn), 1e-30)
        guess = guess * np.clip(scale, 1e-2, 1e2).astype(np.float32)[:, None]
    step *= guess
    for move, turn, inverse, share in reversed(kept):
        back = (inverse * _dot(turn, step)).astype(np.float32)
        step += (share - back)[:, None] * move
    return step


def _dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.einsum("dpk,dpk->p", first, second, dtype=np.float64)


def _softmax(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    top = scores.max(-1, keepdims=True)
    raised = np.exp(scores - top)
    total = raised.sum(-1, keepdims=True)
    return raised / total, (top + np.log(total))[..., 0]


def _gram(features: np.ndarray) -> np.ndarray:
    dim = features.shape[1]
    total = np.zeros((dim, dim))
    for rows in _chunks(len(features), dim):
        block = features[rows].astype(np.float64)
        total += block.T @ block
    return total


def _chunks(count: int, width: int) -> Iterator[slice]:
    """Yield slices of rows with at most `MOST_SCORES` scores, `width` per row."""
    size = max(256, MOST_SCORES // width)
    for start in range(0, count, size):
        yield slice(start, start + size)
