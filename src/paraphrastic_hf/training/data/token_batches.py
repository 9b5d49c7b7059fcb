"""Base class of objectives whose batches have about the same number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

import numpy as np
from accelerate import Accelerator

from paraphrastic_hf.training.engine.recipe import TokenBatchArguments

Arguments = TypeVar("Arguments", bound=TokenBatchArguments)


@dataclass(frozen=True)
class Share:
    """One process's share of a batch.

    Attributes:
        examples: Indices of the examples, (count,). A process without examples computes an example
            of another process, because all processes must take part in every step.
        size: Number of examples that count in the loss, 0 for a process without examples.
    """

    examples: np.ndarray
    size: int


class TokenBatchObjective(Generic[Arguments]):
    """Base of objectives with batches of similar lengths, `accumulate` batches per step.

    Args:
        lengths: Length of each example in tokens, (examples,) or (examples, sides).
        planner: Function that divides an epoch into batches, such as `plan_batches` or
            `plan_pair_batches`.
    """

    def __init__(
        self,
        arguments: Arguments,
        seed: int,
        accelerator: Accelerator,
        lengths: np.ndarray,
        planner: Callable[..., list[np.ndarray]],
    ) -> None:
        self.arguments, self.seed, self.accelerator = arguments, seed, accelerator
        self.lengths, self._planner = lengths, planner
        self._epoch: tuple[int, list[np.ndarray], np.ndarray] | None = None
        self._steps = ceil(len(self._plan(0)[0]) / arguments.accumulate)

    def examples(self, epoch: int) -> int:
        return len(self.lengths)

    def steps(self, epoch: int) -> int:
        """Return the number of steps in the first epoch. Others may differ by a few steps."""
        return self._steps

    def next_batches(self, epoch: int, position: int, steps: int = 1) -> list[np.ndarray]:
        """Return the batches of the next `steps` steps, as indices of examples."""
        plan, starts = self._plan(epoch)
        first = int(np.searchsorted(starts, position))
        return plan[first : first + steps * self.arguments.accumulate]

    def share(self, batch: np.ndarray) -> Share:
        """Return this process's share of a batch."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        own = np.array_split(batch, world)[rank]
        return Share(own if len(own) else batch[:1], len(own))

    def _plan(self, epoch: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the batches of an epoch, and the number of examples before each batch."""
        if self._epoch is None or self._epoch[0] != epoch:
            plan = self._planner(
                self.lengths,
                max_tokens=self.arguments.batch_tokens,
                max_examples=self.arguments.batch_size,
                random=np.random.default_rng([self.seed, epoch]),
            )
            starts = np.cumsum([0, *map(len, plan)])[:-1]
            self._epoch = (epoch, plan, starts)
        return self._epoch[1:]
