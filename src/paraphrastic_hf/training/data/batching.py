"""Batches with about the same number of tokens, grouped into optimizer steps.

Transformers train better with many tokens per step (thesis, Figure 6), so a step may accumulate
several batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Step:
    """The batches of one optimizer step, whose gradients are accumulated.

    Attributes:
        size: Number of examples in all batches and processes.
        frozen: Parameters that the step does not change.
    """

    batches: Sequence[Any]
    size: int
    frozen: Sequence[Any] = ()


def plan_batches(
    lengths: np.ndarray,
    *,
    max_tokens: int,
    max_examples: int,
    random: np.random.Generator,
    noise: float = 0.1,
) -> list[np.ndarray]:
    """Divide an epoch into batches of texts with similar lengths, in random order.

    Texts are sorted by length plus noise, so that batches differ between epochs.

    Args:
        lengths: Length of each text in tokens, (examples,).
        max_tokens: Maximum number of tokens in a batch, including padding. A longer text gets a
            batch of its own.
        noise: Standard deviation of the noise, as a share of the length.

    Returns:
        Indices of the texts in each batch. Every text is in exactly one batch.

    Example:
        >>> random = np.random.default_rng(0)
        >>> lengths = np.array([5, 1, 1, 5])
        >>> plan = plan_batches(lengths, max_tokens=10, max_examples=9, random=random, noise=0)
        >>> sorted(sorted(batch.tolist()) for batch in plan)
        [[0, 3], [1, 2]]
    """
    shuffled = random.permutation(len(lengths))
    disturbed = lengths[shuffled] * (1 + noise * random.standard_normal(len(lengths)))
    order = shuffled[np.argsort(disturbed, kind="stable")]
    return _cut(order, lengths[:, np.newaxis], max_tokens, max_examples, random)


def plan_pair_batches(
    lengths: np.ndarray, *, max_tokens: int, max_examples: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Divide an epoch into batches of pairs with similar lengths, in random order (thesis, 5.6.2).

    Pairs are sorted by the length of the first side, then of the second side.

    Args:
        lengths: Length of each side in tokens, (pairs, 2).
        max_tokens: Maximum number of tokens of both sides in a batch, including padding. A longer
            pair gets a batch of its own.

    Returns:
        Indices of the pairs in each batch. Every pair is in exactly one batch.

    Example:
        >>> random = np.random.default_rng(0)
        >>> lengths = np.array([[5, 6], [1, 1], [1, 2], [5, 5]])
        >>> plan = plan_pair_batches(lengths, max_tokens=22, max_examples=9, random=random)
        >>> sorted(sorted(batch.tolist()) for batch in plan)
        [[0, 3], [1, 2]]
    """
    shuffled = random.permutation(len(lengths))
    first, second = lengths[shuffled].T.reshape(2, -1)
    up_and_down = np.where(first % 2 == 0, second, -second)
    order = shuffled[np.lexsort((up_and_down, first))]
    return _cut(order, lengths, max_tokens, max_examples, random)


def _cut(
    order: np.ndarray,
    lengths: np.ndarray,
    max_tokens: int,
    max_examples: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Divide ordered examples into batches in random order. `lengths`: (examples, sides)."""
    batches, start, longest = [], 0, [0] * lengths.shape[1]
    for place, sides in enumerate(lengths[order].tolist()):
        longest = list(map(max, longest, sides))
        count = place - start + 1
        if count > 1 and (count > max_examples or count * sum(longest) > max_tokens):
            batches.append(order[start:place])
            start, longest = place, sides
    if len(order):
        batches.append(order[start:])
    return [batches[number] for number in random.permutation(len(batches))]
