"""`Window`: the arrays of a packed window encoder, and its computation in numpy."""

from dataclasses import dataclass

import numpy as np

MEAN_SCALE = np.float32(8)  # means are about an eighth of features in size
MOST_STEPS = np.float32(127)  # the integer that stands for 1 in a trained model
TOKENS_AT_A_TIME = 16_384  # bounds the memory for long texts


@dataclass(frozen=True, eq=False)
class Window:
    """Arrays of a window encoder besides its token vectors (`models/encoders/window.py`)."""

    # Summand of each token at each place of a window, (rows, span, features) int8. Ids from
    # rows - 1 on share the last row. Id 0 stands for places outside the text.
    context: np.ndarray
    bias: np.ndarray  # (features,) int16
    inner: np.ndarray  # mean and features to hidden units, (dim + features, hidden) float32
    hidden_bias: np.ndarray  # (hidden,) float32
    outer: np.ndarray  # features and hidden units to embeddings, (features + hidden, dim) float32

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.context, self.bias, self.inner, self.hidden_bias, self.outer

    def features(self, ids: np.ndarray) -> np.ndarray:
        """Return the features of each token's window, (tokens, features) float32, 0 or above."""
        rows, span, _ = self.context.shape
        around = np.zeros(len(ids) + span - 1, np.int64)
        around[span // 2 : span // 2 + len(ids)] = np.minimum(ids, rows - 1)
        sums = np.repeat(self.bias[None], len(ids), 0)
        for place in range(span):
            sums += self.context[around[place : place + len(ids)], place]
        return np.maximum(sums, 0).astype(np.float32)

    def embedding(self, mean: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Return a text's embedding, (dim,), from the mean of its token vectors, (dim,)."""
        if not len(ids):
            return mean
        half, total = self.context.shape[1] // 2, np.zeros(len(self.bias))
        for start in range(0, len(ids), TOKENS_AT_A_TIME):
            first, stop = max(0, start - half), start + TOKENS_AT_A_TIME
            features = self.features(ids[first : stop + half])[start - first :]
            total += features[:TOKENS_AT_A_TIME].sum(0, dtype=np.float64)
        read = np.concatenate([mean, np.float32(total / len(ids))])
        hidden = np.maximum(read @ self.inner + self.hidden_bias, 0)
        return np.asarray(mean + np.concatenate([read[len(mean) :], hidden]) @ self.outer)
