"""Softmax over a sample of a large vocabulary, with an unbiased estimate of the full sum.

On a CPU, scoring the whole vocabulary takes most of a decoder's time. Instead, a batch is scored
against its own tokens and a random sample of all other tokens. Weights of the sampled tokens make
the sum of exp(score) an unbiased estimate (importance sampling; Bengio and Senecal, 2003). The
papers use the whole vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from paraphrastic_hf.layers.packing import moved


@dataclass(frozen=True)
class Candidates:
    """Vocabulary tokens that a batch is scored against."""

    ids: torch.Tensor  # (candidates,) int64, ascending, each once
    weights: torch.Tensor  # (candidates,) float32, number of tokens that each represents

    def columns(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the position in `ids` of candidates, in the shape given."""
        return torch.searchsorted(self.ids, targets)

    def to(self, device: torch.device) -> Candidates:
        """Return a copy on a device."""
        return Candidates(moved(self.ids, device), moved(self.weights, device))


def draw_candidates(
    targets: np.ndarray, vocab: int, extra: int, random: np.random.Generator
) -> Candidates:
    """Return every token of a batch and a random sample of the other vocabulary tokens.

    `targets` are ids of any shape. `extra` is the number of other tokens to draw, or all if the
    vocabulary has fewer.

    Example:
        >>> found = draw_candidates(np.array([2, 2, 5]), 10, 4, np.random.default_rng(0))
        >>> len(found.ids), float(found.weights.sum())  # ids 2 and 5, and 4 of the other 8
        (6, 10.0)
    """
    is_used = np.zeros(vocab, bool)
    is_used[targets.reshape(-1)] = True
    others = np.flatnonzero(~is_used)
    drawn = random.choice(others, min(extra, len(others)), replace=False)
    stands_for = np.zeros(vocab, np.float32)
    stands_for[is_used] = 1
    if len(drawn):
        stands_for[drawn] = len(others) / len(drawn)
    ids = np.flatnonzero(stands_for)
    return Candidates(torch.from_numpy(ids), torch.from_numpy(stands_for[ids]))
