"""A learning rate that falls by a factor at the ends of epochs, and ends the run (thesis, 7.3)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from paraphrastic_hf.training.seq2seq.recipe import AnnealedArguments


@runtime_checkable
class Annealed(Protocol):
    """An objective that lowers the learning rate at the ends of epochs, and may end the run."""

    @property
    def rate_share(self) -> float:
        """What the schedule's learning rate is multiplied with, above 0 and at most 1."""

    @property
    def is_over(self) -> bool:
        """Whether training is to end."""

    def observe(self, epoch: int, score: float | None) -> None:
        """Take note of the end of an epoch.

        Args:
            epoch: From 0.
            score: The development score there, the same in every process; None if there is none.
        """


@dataclass
class Annealing:
    """What becomes of the learning rate after each epoch; what a checkpoint keeps of it is `state`.

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
        given = arguments
        return cls(given.anneal, given.anneal_from, given.anneal_until, given.learning_rate)

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

    def state(self) -> dict[str, Any]:
        """What has been observed, as JSON."""
        return {name: asdict(self)[name] for name in ("share", "best")}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.share, self.best = state["share"], state["best"]


class AnnealedObjective:
    """What an objective with an `Annealing` tells the loop, and keeps in checkpoints.

    Attributes:
        annealing: What becomes of its learning rate.
    """

    annealing: Annealing

    @property
    def rate_share(self) -> float:
        """What the learning rate is multiplied with."""
        return self.annealing.share

    @property
    def is_over(self) -> bool:
        """Whether the learning rate has fallen below the least."""
        return self.annealing.is_over

    def observe(self, epoch: int, score: float | None) -> None:
        """Anneal the learning rate, if it is time."""
        self.annealing.observe(epoch, score)

    def state(self) -> dict[str, Any]:
        """How far the learning rate has been annealed."""
        return self.annealing.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.annealing.restore(state)
