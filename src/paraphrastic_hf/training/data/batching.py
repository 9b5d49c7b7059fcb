"""Batches with about the same number of tokens, grouped into optimizer steps.

Transformers train better with many tokens per step (thesis, Figure 6), so a step may accumulate the
gradients of several small batches. A step mixes short and long texts, but texts in one batch have
similar lengths, to limit padding.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from accelerate import Accelerator

from paraphrastic_hf.training.engine.loop import Objective
from paraphrastic_hf.training.engine.recipe import TokenBatchArguments

Arguments = TypeVar("Arguments", bound=TokenBatchArguments)


def batches_by_length(
    lengths: np.ndarray, *, max_tokens: int, max_examples: int, group: np.ndarray | None = None
) -> list[np.ndarray]:
    """Divide examples into batches of similar lengths. Return the indices of each batch.

    Examples are sorted by group and by the length of the first side. Ties are sorted by the second
    side, ascending and descending in turn, so that neighbors differ little. A new batch starts at a
    new group, and when the batch would have more than `max_tokens` tokens, all sides together,
    including padding. A longer example is a batch of its own. `lengths` are in tokens, (examples,)
    or (examples, sides).

    Example:
        >>> lengths = np.array([[5, 6], [1, 1], [1, 2], [5, 5]])
        >>> plan = batches_by_length(lengths, max_tokens=22, max_examples=9)
        >>> [batch.tolist() for batch in plan]
        [[2, 1], [0, 3]]
    """
    if not len(lengths):
        return []
    sides = lengths if lengths.ndim == 2 else lengths[:, np.newaxis]
    group = np.zeros(len(lengths), np.int64) if group is None else group
    first, second = sides[:, 0], sides[:, -1]
    up_and_down = np.where(first % 2 == 0, second, -second)
    order = np.lexsort((up_and_down, first, group))
    starts, longest, current = [0], [0] * sides.shape[1], group[order[0]]
    for place, (own, found) in enumerate(
        zip(sides[order].tolist(), group[order].tolist(), strict=True)
    ):
        longest = list(map(max, longest, own))
        count = place - starts[-1] + 1
        is_full = count > max_examples or count * sum(longest) > max_tokens
        if found != current or (count > 1 and is_full):
            starts.append(place)
            longest, current = own, found
    return np.split(order, starts[1:])


def plan_steps(
    order: np.ndarray,
    lengths: np.ndarray,
    *,
    batch_tokens: int,
    batch_size: int,
    accumulate: int,
    group: np.ndarray | None = None,
) -> list[list[np.ndarray]]:
    """Divide an epoch into steps of batches (thesis, 5.6.2 and 5.11.1).

    Consecutive examples of `order` form a step, with at most `accumulate * batch_tokens` tokens
    without padding. If `order` is random, a step contains all lengths and groups of the corpus.
    Its examples are then divided into batches of similar lengths, of at most `batch_tokens` tokens
    with padding (`batches_by_length`). So a step has about `accumulate` batches, often a few more.
    """
    sides = lengths[order] if lengths.ndim == 2 else lengths[order, np.newaxis]
    ends = np.cumsum(sides.sum(1))
    steps = []
    start, before = 0, 0
    while start < len(order):
        most = before + accumulate * batch_tokens
        end = int(np.searchsorted(ends, most, side="right"))
        end = max(start + 1, min(end, start + accumulate * batch_size))
        own = order[start:end]
        batches = batches_by_length(
            sides[start:end],
            max_tokens=batch_tokens,
            max_examples=batch_size,
            group=None if group is None else group[own],
        )
        steps.append([own[batch] for batch in batches])
        start, before = end, int(ends[end - 1])
    return steps


@dataclass(frozen=True)
class Share:
    """One process's share of a batch.

    A process without examples computes an example of another process, because all processes must
    take part in every step.
    """

    examples: np.ndarray  # indices, (count,)
    size: int  # number of examples that count in the loss


class TokenBatchObjective(Objective, Generic[Arguments]):
    """Base of objectives whose steps consist of batches of similar lengths (`plan_steps`)."""

    def __init__(
        self,
        arguments: Arguments,
        seed: int,
        accelerator: Accelerator,
        lengths: np.ndarray,
        group: np.ndarray | None = None,
    ) -> None:
        self.arguments, self.seed, self.accelerator = arguments, seed, accelerator
        self.lengths, self.group = lengths, group
        self._epoch: tuple[int, list[list[np.ndarray]], np.ndarray] | None = None
        self._steps = len(self._plan(0)[0])

    def examples(self, epoch: int) -> int:
        return len(self.lengths)

    def steps(self, epoch: int) -> int:
        """Return the number of steps in the first epoch. Others may differ by a few steps."""
        return self._steps

    def next_step(self, epoch: int, position: int) -> list[np.ndarray]:
        """Return the batches of the next step, as indices of examples."""
        plan, starts = self._plan(epoch)
        return plan[int(np.searchsorted(starts, position))]

    def share(self, batch: np.ndarray) -> Share:
        """Return this process's share of a batch."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        own = np.array_split(batch, world)[rank]
        return Share(own if len(own) else batch[:1], len(own))

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """Return the indices of an epoch's examples in random order."""
        return random.permutation(len(self.lengths))

    def _plan(self, epoch: int) -> tuple[list[list[np.ndarray]], np.ndarray]:
        """Return the steps of an epoch, and how many examples of the epoch precede each step."""
        if self._epoch is None or self._epoch[0] != epoch:
            args = self.arguments
            plan = plan_steps(
                self.draw(np.random.default_rng([self.seed, epoch])),
                self.lengths,
                batch_tokens=args.batch_tokens,
                batch_size=args.batch_size,
                accumulate=args.accumulate,
                group=self.group,
            )
            sizes = [sum(map(len, step)) for step in plan]
            self._epoch = (epoch, plan, np.cumsum([0, *sizes])[:-1])
        return self._epoch[1:]
