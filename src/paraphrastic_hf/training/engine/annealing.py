"""Annealing of the learning rate at the end of epochs (thesis, 7.3)."""

from paraphrastic_hf.training.seq2seq.recipe import AnnealedArguments


class Annealing:
    """Annealing schedule of a recipe and its state.

    Attributes:
        share: Current learning rate divided by the initial rate.
        best: Highest development score at the end of an epoch. None before the first score.

    Example:
        >>> annealing = Annealing(
        ...     AnnealedArguments(anneal=0.1, anneal_until=0.02, learning_rate=1.0)
        ... )
        >>> for epoch, score in enumerate([-3.0, -2.0, -2.1, -1.9, -2.2]):
        ...     annealing.observe(epoch, score)
        ...     print(annealing.share, annealing.is_over)
        1.0 False
        1.0 False
        0.1 False
        0.1 False
        0.010000000000000002 True
    """

    def __init__(self, arguments: AnnealedArguments) -> None:
        self._arguments = arguments
        self.share = 1.0
        self.best: float | None = None

    def observe(self, epoch: int, score: float | None) -> None:
        """Update the learning rate at the end of an epoch, counted from 0.

        `score` is the development score (higher is better), or None without a development set.
        """
        is_best = score is not None and (self.best is None or score > self.best)
        if is_best:
            self.best = score
        factor, first = self._arguments.anneal, self._arguments.anneal_from
        is_time = score is not None and not is_best if first is None else epoch + 1 >= first
        if factor is not None and is_time:
            self.share *= factor

    @property
    def is_over(self) -> bool:
        arguments = self._arguments
        rate = arguments.learning_rate * self.share
        return arguments.anneal is not None and rate < arguments.anneal_until
