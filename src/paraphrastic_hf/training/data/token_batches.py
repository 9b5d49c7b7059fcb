"""Base class of objectives whose steps have about the same number of tokens."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from accelerate import Accelerator

from paraphrastic_hf.training.data.batching import plan_steps
from paraphrastic_hf.training.engine.loop import Objective
from paraphrastic_hf.training.engine.recipe import TokenBatchArguments

Arguments = TypeVar("Arguments", bound=TokenBatchArguments)


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

    def next_steps(self, epoch: int, position: int, count: int = 1) -> list[list[np.ndarray]]:
        """Return the batches of each of the next `count` steps, as indices of examples."""
        plan, starts = self._plan(epoch)
        first = int(np.searchsorted(starts, position))
        return plan[first : first + count]

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
