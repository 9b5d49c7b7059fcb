"""Mega-batches: how many mini-batches negatives are chosen from, and the choice itself (thesis, 4.4, 5.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from paraphrastic_hf.losses.negatives import Pool


@dataclass(frozen=True)
class MiniBatch:
    """The sentences of one optimizer step.

    Attributes:
        first: (pairs,) sentence numbers.
        second: (pairs,) their partners.
        negative_of_first: (pairs,) sentence numbers, -1 for none; None if still to be chosen from the
            mini-batch itself.
        negative_of_second: Likewise.
        weight: Factor of the loss: this process's share of the pairs times the number of processes.
    """

    first: np.ndarray
    second: np.ndarray
    negative_of_first: np.ndarray | None = None
    negative_of_second: np.ndarray | None = None
    weight: float = 1.0


def mega_batch_size(step: int, largest: int, anneal_steps: int) -> int:
    """Mini-batches in the mega-batch that starts at `step`: 1, and 1 more every `anneal_steps` (5.2.1).

    Example:
        >>> [mega_batch_size(step, 60, 150) for step in (0, 149, 150, 8850, 10**6)]
        [1, 1, 2, 60, 60]
    """
    return largest if anneal_steps == 0 else min(largest, 1 + step // anneal_steps)


def make_pool(embeddings: torch.Tensor, sentences: np.ndarray, language: np.ndarray, group: np.ndarray) -> Pool:
    """The pool of a mega-batch whose sentences are interleaved: first, second, first, ..."""
    device = embeddings.device
    return Pool(
        embeddings,
        torch.from_numpy(language[sentences].astype(np.int64)).to(device),
        torch.from_numpy(group[sentences]).to(device),
    )


def interleave(firsts: np.ndarray) -> np.ndarray:
    """Sentence numbers of pairs given by their first sentences: first, partner, first, partner, ..."""
    return np.stack([firsts, firsts ^ 1], 1).reshape(-1)


def split(sentences: np.ndarray, negatives: np.ndarray, batch_size: int) -> Iterator[MiniBatch]:
    """A mega-batch back into mini-batches.

    Args:
        sentences: Interleaved sentence numbers.
        negatives: For each, the position in `sentences` of its negative, or -1.
        batch_size: Pairs in a mini-batch.
    """
    chosen = np.where(negatives >= 0, sentences[negatives], -1)
    for start in range(0, len(sentences), 2 * batch_size):
        rows = slice(start, start + 2 * batch_size)
        firsts, picks = sentences[rows], chosen[rows]
        yield MiniBatch(firsts[::2], firsts[1::2], picks[::2], picks[1::2])
