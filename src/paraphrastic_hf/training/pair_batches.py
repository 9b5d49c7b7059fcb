"""Batches of translations by a budget of tokens on both sides (thesis, 5.6.2).

Texts of both sides are padded, so pairs go together whose first sides are equally long, and whose
second sides are nearly so.
"""

from __future__ import annotations

import numpy as np


def plan_pair_batches(
    lengths: np.ndarray,
    *,
    max_tokens: int,
    max_examples: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Cut an epoch into batches of pairs of like lengths, in random order.

    Pairs are sorted by the length of one side, and among equal ones by that of the other, up and
    down in turn, so that neighbours differ little; pairs of equal lengths are in random order. They
    are cut where the padded sides together would grow beyond the budget.

    Args:
        lengths: Tokens of each side, (pairs, 2).
        max_tokens: Most tokens of a batch, those of both sides and padding included; a longer pair
            is a batch of its own.
        max_examples: Most pairs of a batch.
        random: Source of the order of pairs of equal lengths, and of the batches.

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
    batches, start, longest = [], 0, np.zeros(2, np.int64)
    for place, pair in enumerate(lengths[order]):
        longest = np.maximum(longest, pair)
        count = place - start + 1
        if count > 1 and (count > max_examples or count * longest.sum() > max_tokens):
            batches.append(order[start:place])
            start, longest = place, pair
    if len(order):
        batches.append(order[start:])
    return [batches[number] for number in random.permutation(len(batches))]
