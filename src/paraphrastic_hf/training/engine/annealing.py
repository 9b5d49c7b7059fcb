"""A learning rate that falls by a factor at the ends of epochs, and ends the run (thesis, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.training.seq2seq.recipe import AnnealedArguments


@dataclass
class Annealing:
    """What becomes of the learning rate after each epoch.

    Attributes:
        factor: What the rate is multiplied with each time, above 0 and below 1; None for never.
        first: Epoch from whose end that is done after every one, and before which it never is; with
            None it is done where the development score is no new best.
        least: Training ends where the rate falls below this, above 0.
        rate: The rate that training begins with, above 0.
        share: What the rate is multiplied with by now, above 0 and at most 1.
        best: The highest development score at the end of an epoch; None before the first.

    Example:
        >>> annealing = Annealing(factor=0.1, first=None, least=0.02, rate=1.0)
        >>> for epoch, score in enumerate([-3.0, -2.0, -2.1, -1.9, -2.2]):
        ...     annealing.observe(epoch, score)
        ...     print(annealing.share, annealing.is_over)
        1.0 False
        1.0 False
        0.1 False
        0.1 False
        0.010000000000000002 True
    """

    factor: float | None
    first: int | None
    least: float
    rate: float
    share: float = 1.0
    best: float | None = None

    @classmethod
    def of(cls, arguments: AnnealedArguments) -> Annealing:
        """What a recipe's keys ask for."""
        asked = arguments.anneal, arguments.anneal_from, arguments.anneal_until
        return cls(*asked, arguments.learning_rate)

    def observe(self, epoch: int, score: float | None) -> None:
        """Take note of the end of an epoch.

        Args:
            epoch: From 0.
            score: The development score, of which more is better; None if there is none.
        """
        is_best = score is not None and (self.best is None or score > self.best)
        if is_best:
            self.best = score
        if self.first is not None:
            is_time = epoch + 1 >= self.first
        else:
            is_time = score is not None and not is_best
        if self.factor is not None and is_time:
            self.share *= self.factor

    @property
    def is_over(self) -> bool:
        """Whether the rate has fallen below the least."""
        return self.factor is not None and self.rate * self.share < self.least


class AnnealedObjective:
    """An objective whose learning rate is annealed, and which keeps that in checkpoints."""

    annealing: Annealing

    def state(self) -> dict[str, Any]:
        """How far the learning rate has been annealed."""
        return {"share": self.annealing.share, "best": self.annealing.best}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from what `state` gave."""
        self.annealing.share, self.annealing.best = state["share"], state["best"]
