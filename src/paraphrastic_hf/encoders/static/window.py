"""`Window`: what the neighbors of a token add to its vector, in a packed window encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Window:
    """Tables of a window encoder (`models/encoders/window.py`). Immutable.

    Attributes:
        context: Summand of each token at each place of a window, (rows, span, features) int8. The
            ids from rows - 1 on share the last row. Id 0 stands for places outside the text.
        bias: (features,) int16.
        output: Matrix from features to embeddings, (features, dim) float32.

    Example:
        >>> context = np.zeros((3, 3, 1), np.int8)
        >>> context[2, 0], context[1, 1] = 5, 2  # token 2 before token 1
        >>> window = Window(context, np.array([-6], np.int16), np.ones((1, 1), np.float32))
        >>> window.features(np.array([2, 1])).tolist(), window.features(np.array([1, 2])).tolist()
        ([[0.0], [1.0]], [[0.0], [0.0]])
    """

    context: np.ndarray
    bias: np.ndarray
    output: np.ndarray

    def features(self, ids: np.ndarray) -> np.ndarray:
        """Return the features of each token's window, (tokens, features) float32, 0 or above."""
        rows, span, _ = self.context.shape
        around = np.zeros(len(ids) + span - 1, np.int64)
        around[span // 2 : span // 2 + len(ids)] = np.minimum(ids, rows - 1)
        sums = np.repeat(self.bias[None].astype(np.int16), len(ids), 0)
        for place in range(span):
            sums += self.context[around[place : place + len(ids)], place]
        return np.maximum(sums, 0).astype(np.float32)

    def with_dimension(self, dimension: int) -> Window:
        return Window(self.context, self.bias, np.ascontiguousarray(self.output[:, :dimension]))
