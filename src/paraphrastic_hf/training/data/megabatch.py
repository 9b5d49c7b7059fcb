"""Mega-batches, from which negatives are selected (thesis, 4.4, 5.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from paraphrastic_hf.losses.pool import Pool
from paraphrastic_hf.text.ragged import Ragged


@dataclass(frozen=True)
class MiniBatch:
    """Sentence indices of one optimizer step, (sides, pairs).

    Attributes:
        pairs: First sentences in row 0, their partners in row 1.
        negatives: Negatives of these sentences, or of first sentences only. -1 for no negative.
            None to select negatives from the mini-batch.
        weight: Factor of the loss: this process's share of the pairs, times the number of
            processes.
        of_all: The batch of all processes. None if this is that batch.
    """

    pairs: np.ndarray
    negatives: np.ndarray | None = None
    weight: float = 1.0
    of_all: MiniBatch | None = None

    @property
    def whole(self) -> MiniBatch:
        """The batch of all processes."""
        return self.of_all or self

    @property
    def sentences(self) -> np.ndarray:
        """Sentences and negatives, (2 to 4, pairs). The anchor replaces a missing negative."""
        if self.negatives is None:
            return self.pairs
        anchors = self.pairs[: len(self.negatives)]
        negatives = np.where(self.negatives >= 0, self.negatives, anchors)
        return np.concatenate([self.pairs, negatives])

    def share(self, rank: int, world: int) -> MiniBatch:
        """Return one process's part of a batch, weighted by its share of the pairs.

        A process without pairs gets a pair with weight 0.
        """
        total = self.pairs.shape[1]
        rows = np.array_split(np.arange(total), world)[rank]
        weight = len(rows) * world / total
        rows = rows if len(rows) else np.zeros(1, np.int64)
        negatives = None if self.negatives is None else self.negatives[:, rows]
        return MiniBatch(self.pairs[:, rows], negatives, weight, self)


def mega_batch_size(step: int, largest: int, anneal_steps: int) -> int:
    """Return the number of mini-batches in a mega-batch: 1, plus 1 every `anneal_steps` steps."""
    return largest if anneal_steps == 0 else min(largest, 1 + step // anneal_steps)


def make_pool(
    embeddings: torch.Tensor,
    sentences: np.ndarray,
    language: np.ndarray,
    group: np.ndarray,
    never: Ragged | None = None,
) -> Pool:
    """Return the pool of candidates for negatives. `sentences` is the result of `interleave`."""
    device = embeddings.device
    barred = None
    if never is not None:
        groups, mask = never.padded(group[sentences])
        barred = torch.from_numpy(np.where(mask, groups, -1)).to(device)
    return Pool(
        embeddings,
        torch.from_numpy(language[sentences].astype(np.int64)).to(device),
        torch.from_numpy(group[sentences]).to(device),
        barred,
    )


def interleave(firsts: np.ndarray) -> np.ndarray:
    """Return the sentences of pairs in the order first, partner, first, partner, ..."""
    return np.stack([firsts, firsts ^ 1], 1).reshape(-1)


def split(
    sentences: np.ndarray, negatives: np.ndarray, batch_size: int, sides: int = 2
) -> Iterator[MiniBatch]:
    """Split a mega-batch into mini-batches.

    `negatives` are indices into `sentences`, or -1. Only the first `sides` sentences of a pair have
    a negative.
    """
    chosen = np.where(negatives >= 0, sentences[negatives], -1)
    for start in range(0, len(sentences), 2 * batch_size):
        rows = slice(start, start + 2 * batch_size)
        yield MiniBatch(sentences[rows].reshape(-1, 2).T, chosen[rows].reshape(-1, 2).T[:sides])
