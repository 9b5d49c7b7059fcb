"""Where a run is; what its checkpoints and `run.json` hold beside tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Progress:
    """Where a run is; what a checkpoint holds beside tensors.

    Attributes:
        epoch: From 0.
        position: Examples of the epoch already seen.
        step: Steps of the optimizer since training began.
        examples: Examples since training began.
        seconds: Training time, evaluation left out.
        best_score: Highest development score; None before the first evaluation.
        best_step: Its step.
        next_evaluation: First step at which to evaluate again.
        next_checkpoint: First step at which to write a checkpoint again.
    """

    epoch: int = 0
    position: int = 0
    step: int = 0
    examples: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    best_step: int | None = None
    next_evaluation: int = 0
    next_checkpoint: int = 0

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Progress:
        """What a checkpoint or `run.json` holds; older ones have `pairs` for `examples`."""
        return cls(**{"examples" if key == "pairs" else key: record[key] for key in record})
