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
        max_examples: Most texts of a batch.
        random: Source of the disturbance and of the order.
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
    batches, start, longest = [], 0, 0
    for place, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        count = place - start + 1
        if count > 1 and (count > max_examples or count * longest > max_tokens):
            batches.append(order[start:place])
            start, longest = place, length
    if len(order):
        batches.append(order[start:])
    return [batches[number] for number in random.permutation(len(batches))]
