"""Annealing of the learning rate at the end of epochs (thesis, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.training.seq2seq.recipe import AnnealedArguments


@dataclass
class Annealing:
    """Annealing schedule and its state.

    Attributes:
        factor: Factor of the learning rate at each annealing, between 0 and 1. None for no
            annealing.
        first: First epoch, from 1, that always ends with annealing, as do all later epochs. None to
            anneal after each epoch without a new best development score.
        least: Training ends when the learning rate falls below this value, above 0.
        rate: Initial learning rate, above 0.
        share: Current learning rate divided by the initial rate.
        best: Highest development score at the end of an epoch. None before the first score.

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
        """Return the annealing schedule of a recipe."""
        return cls(
            arguments.anneal, arguments.anneal_from, arguments.anneal_until, arguments.learning_rate
        )

    def observe(self, epoch: int, score: float | None) -> None:
        """Update the learning rate at the end of an epoch, counted from 0.

        `score` is the development score (higher is better), or None without a development set.
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
