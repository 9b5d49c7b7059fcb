"""Annealing of the learning rate at the end of epochs, and of the run (thesis, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.training.seq2seq.recipe import AnnealedArguments


@dataclass
class Annealing:
    """Annealing schedule and its state.

    Attributes:
        factor: Factor that each annealing multiplies the rate by, above 0 and below 1. None for no
            annealing.
        first: First epoch, counted from 1, that ends with annealing. All later epochs also do. None
            to anneal after each epoch whose development score is not a new best.
        least: Training ends when the rate falls below this, above 0.
        rate: Initial rate, above 0.
        share: Current rate divided by the initial rate, above 0 and at most 1.
        best: Highest development score at the end of an epoch, or None before the first.

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
        """Read the schedule of a recipe."""
        return cls(
            arguments.anneal, arguments.anneal_from, arguments.anneal_until, arguments.learning_rate
        )

    def observe(self, epoch: int, score: float | None) -> None:
        """Update the rate at the end of an epoch.

        Args:
            epoch: Index of the epoch, from 0.
            score: Development score (higher is better), or None without a development set.
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
        return self.factor is not None and self.rate * self.share < self.least


class AnnealedObjective:
    """Base of objectives with an annealed learning rate. Checkpoints save the state."""

    annealing: Annealing

    def state(self) -> dict[str, Any]:
        return {"share": self.annealing.share, "best": self.annealing.best}

    def restore(self, state: dict[str, Any]) -> None:
        self.annealing.share, self.annealing.best = state["share"], state["best"]
