"""Aggressive training of the encoders of a variational model (He et al., 2019; thesis, 5.9.2).

Before each step of the decoders the encoders take steps alone, until that no longer lowers the
loss, so that the posterior keeps up with the model. This ends, and all are trained together, when
the variables' information of their sentences no longer rises on held-out pairs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

WINDOW = 10  # steps whose mean loss is compared with that of as many steps before
MOST = 100  # steps of the encoders before a step of the decoders


@dataclass
class Aggression:
    """Whose turn it is: a state that every step changes, and that checkpoints hold.

    Attributes:
        is_on: Whether encoders still take steps alone.
        count: Steps of the encoders since the last step of the decoders.
        total: Sum of the losses of the present window.
        before: Mean loss of the window before; infinite before the first.
        information: The largest information so far, in nats; negative before the first evaluation.

    Example:
        >>> turns = Aggression()
        >>> for _ in range(WINDOW):
        ...     turns.add(2.0)
        >>> for _ in range(WINDOW):
        ...     turns.add(3.0)  # no better than before: the decoders' turn
        >>> turns.is_decoders_turn
        True
    """

    is_on: bool = True
    count: int = 0
    total: float = 0.0
    before: float = float("inf")
    information: float = -1.0
    is_decoders_turn: bool = False

    def add(self, loss: float) -> None:
        """Count a step of the encoders, or, in the decoders' turn, begin anew after it."""
        if self.is_decoders_turn:
            self.is_decoders_turn, self.count = False, 0
            self.total, self.before = 0.0, float("inf")
            return
        self.count += 1
        self.total += loss
        if self.count % WINDOW == 0:
            mean = self.total / WINDOW
            self.is_decoders_turn = mean > self.before or self.count >= MOST
            self.total, self.before = 0.0, mean

    def observe(self, information: float) -> None:
        """End it once held-out information no longer rises."""
        self.is_on = self.is_on and information > self.information
        self.information = max(self.information, information)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps; JSON has no infinity."""
        known = asdict(self)
        return {**known, "before": None if self.before == float("inf") else self.before}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Aggression:
        """The state that a checkpoint kept."""
        before = state["before"]
        return cls(**{**state, "before": float("inf") if before is None else before})
