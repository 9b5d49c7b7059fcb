"""Aggressive training of the encoders of a variational model (He et al., 2019; thesis, 5.9.2).

Before each decoder step, only the encoders are trained, until the loss stops falling. Normal
training begins when the mutual information of latent variables and held-out sentences stops rising.
"""

from dataclasses import dataclass

WINDOW = 10  # encoder steps over which the loss is averaged
MOST = 100  # encoder steps before a decoder step


@dataclass
class Aggression:
    """Turns of encoders and decoders in aggressive training. Checkpoints save them."""

    is_on: bool = True  # whether aggressive training continues
    count: int = 0  # encoder steps since the last decoder step
    total: float = 0.0  # sum of the losses in the current window of steps
    before: float | None = None  # mean loss of the previous window
    information: float = -1.0  # largest mutual information so far, in nats, -1 before the first
    is_decoders_turn: bool = False  # whether the next step trains the decoders

    def add(self, loss: float) -> None:
        """Record the loss of a step. A decoder step is not recorded, but starts a new count."""
        if self.is_decoders_turn:
            self.is_decoders_turn, self.count = False, 0
            self.total, self.before = 0.0, None
            return
        self.count += 1
        self.total += loss
        if self.count % WINDOW == 0:
            mean = self.total / WINDOW
            is_worse = self.before is not None and mean > self.before
            self.is_decoders_turn = is_worse or self.count >= MOST
            self.total, self.before = 0.0, mean

    def observe(self, information: float) -> None:
        """End aggressive training if the held-out mutual information has stopped rising."""
        self.is_on = self.is_on and information > self.information
        self.information = max(self.information, information)
