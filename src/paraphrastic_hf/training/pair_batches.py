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
    noise: float = 0.05,
) -> list[np.ndarray]:
    """Cut an epoch into batches of pairs of like lengths, in random order.

    Pairs are sorted by the length of one side, and among equal ones by that of the other, up and
    down in turn, so that neighbours differ little; a little noise makes batches differ from epoch
    to epoch. They are cut where the padded sides together would grow beyond the budget.

    Args:
        lengths: Tokens of each side, (pairs, 2).
        max_tokens: Most tokens of a batch, those of both sides and padding included; a longer pair
            is a batch of its own.
        max_examples: Most pairs of a batch.
        random: Source of the noise and of the order.
        noise: Standard deviation of the noise, as a share of a length; 0 for none.

    Returns:
        The numbers of the pairs of each batch; every pair is in exactly one.

    Example:
        >>> random = np.random.default_rng(0)
        >>> lengths = np.array([[5, 6], [1, 1], [1, 2], [5, 5]])
        >>> plan = plan_pair_batches(
        ...     lengths, max_tokens=22, max_examples=9, random=random, noise=0
        ... )
        >>> sorted(sorted(batch.tolist()) for batch in plan)
        [[0, 3], [1, 2]]
    """
    shuffled = random.permutation(len(lengths))
    shape = (len(lengths), 2)
    disturbed = np.rint(lengths[shuffled] * (1 + noise * random.standard_normal(shape)))
    first, second = disturbed[:, 0], disturbed[:, 1]
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
