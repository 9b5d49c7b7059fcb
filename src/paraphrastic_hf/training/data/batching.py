"""Steps and the batches they are made of; batches of about equally many tokens.

A transformer wants many tokens a step (thesis, Figure 6), padded batches want texts of like length,
and memory wants small ones: so a step may take several batches, whose gradients add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Step:
    """What one step of the optimizer learns from.

    Attributes:
        batches: The batches whose losses, and so gradients, add up; often one.
        size: Examples of the epoch that it uses up, those of other processes included.
        frozen: Parameters that it leaves as they are, whatever their gradients.
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
    """Cut an epoch into batches of texts of like length, in random order.

    Texts are sorted by length, a little disturbed so that batches differ from epoch to epoch, and
    cut where the padded rectangle would grow beyond the budget.

    Args:
        lengths: (examples,) tokens of each text.
        max_tokens: Most tokens of a batch, padding included; a text that is longer is a batch of
            its own.
        noise: Standard deviation of the disturbance, as a share of the length; 0 for none.

    Returns:
        The numbers of the texts of each batch; every text is in exactly one.

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
    lengths: np.ndarray,
    *,
    max_tokens: int,
    max_examples: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Cut an epoch into batches of pairs of like lengths, in random order (thesis, 5.6.2).

    Texts of both sides are padded, so pairs go together whose first sides are equally long, and
    whose second sides are nearly so. Pairs are sorted by the length of one side, and among equal
    ones by that of the other, up and down in turn, so that neighbors differ little; pairs of equal
    lengths are in random order. They are cut where the padded sides together would grow beyond the
    budget.

    Args:
        lengths: Tokens of each side, (pairs, 2).
        max_tokens: Most tokens of a batch, those of both sides and padding included; a longer pair
            is a batch of its own.

    Returns:
        The numbers of the pairs of each batch; every pair is in exactly one.

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
    """Examples in an order, cut where the padded sides together would grow beyond the budget; the
    batches in random order. `lengths` is (examples, sides)."""
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
