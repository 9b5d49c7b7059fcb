"""How well encoders fit their training pairs (thesis, 3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, bars_figure
from paraphrastic_hf.encoders.vectors import cosine_matrix
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.plots import COLORS

THESIS = {  # 3.3, on PPDB XL
    "thesis PARAGRAM-PHRASE": 0.7535,
    "thesis projection": 0.7572,
    "thesis LSTM": 0.7565,
    "thesis LSTM, no output gate": 0.7463,
}


@dataclass(frozen=True)
class Fit:
    """Mean cosines of training pairs, and of sentences and their hardest negatives."""

    pairs: int
    positive: float
    negative: float

    @property
    def statistic(self) -> float:
        """Mean of 2 cos(g1, g2) - cos(n1, g1) - cos(n2, g2), -4 to 4.

        g1 and g2 are the sentences of a pair, n1 and n2 their negatives.
        """
        return 2 * (self.positive - self.negative)


def fit_of(encoder: Any, pairs: Sequence[tuple[str, str]], *, batch_size: int = 100) -> Fit:
    """Compare pairs with their hardest negatives, batch by batch as in training (3.1.3.1).

    The negative of a sentence is the most similar sentence of another pair in the batch. Copies of
    the pair's own sentences do not count. A last batch of one pair is left out.
    """
    if batch_size < 2 or len(pairs) < 2:
        raise DataError(
            f"pairs and batch_size must be at least 2, got {len(pairs)} and {batch_size}"
        )
    positive: list[np.ndarray] = []
    negative: list[np.ndarray] = []
    for start in range(0, len(pairs) - 1, batch_size):
        batch = pairs[start : start + batch_size]
        texts = [text for pair in batch for text in pair]
        vectors = np.asarray(encoder.encode(texts), np.float64)
        cosines = cosine_matrix(vectors, vectors)
        positive.append(np.diagonal(cosines, 1)[::2].copy())
        cosines[_barred(texts)] = -np.inf
        negative.append(cosines.max(1))
    found = np.concatenate(negative)
    found = found[np.isfinite(found)]
    if not len(found):
        raise DataError("All pairs are copies of one pair, so there are no negatives. Add pairs")
    first = np.concatenate(positive)
    return Fit(len(first), float(first.mean()), float(found.mean()))


def _barred(texts: Sequence[str]) -> np.ndarray:
    """Return a mask, (texts, texts): True if text j equals text i or its partner, text i ^ 1."""
    _, group = np.unique(texts, return_inverse=True)
    partner = group.reshape(-1, 2)[:, ::-1].reshape(-1)
    same = group[:, None] == group[None, :]
    return np.asarray(same | (partner[:, None] == group[None, :]))


def fit(
    encoders: Mapping[str, Any], pairs: Sequence[tuple[str, str]], *, batch_size: int = 100
) -> Analysis:
    """Compare how well encoders fit the same pairs."""
    found = {
        name: fit_of(encoder, pairs, batch_size=batch_size) for name, encoder in encoders.items()
    }
    rows: list[list[Cell]] = [
        [name, each.pairs, each.positive, each.negative, each.statistic]
        for name, each in found.items()
    ]
    rows += [[name, None, None, None, value] for name, value in THESIS.items()]
    table = Table(
        "models",
        "Fit: mean of 2 cos(g1, g2) - cos(n1, g1) - cos(n2, g2)",
        ["model", "pairs", "cosine of pairs", "cosine of negatives", "fit"],
        rows,
    )
    return Analysis(
        "fit",
        "How well encoders fit their training pairs",
        [table],
        bars_figure(
            {name: each.statistic for name, each in found.items()} | THESIS,
            "fit of training pairs",
            size=(7.5, 1.5 + 0.35 * len(rows)),
            color=[COLORS[0]] * len(found) + [COLORS[1]] * len(THESIS),
        ),
        [
            "Negatives are the most similar sentences of a batch, without the dropout of training.",
            "The thesis's values are for PPDB phrases. Compare only how little they differ from "
            "each other, not their level.",
        ],
        {"models": list(encoders), "pairs": len(pairs), "batch_size": batch_size},
    )
