"""The progress of a run, as checkpoints and `run.json` record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        epoch: From 0.
        position: Examples of the epoch already seen.
        step: Optimizer steps since training began.
        examples: Examples since training began.
        seconds: Training time without evaluation.
        best_score: Highest development score, or None before the first evaluation.
        best_step: Step of the best score.
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
        """Read a record. An earlier version wrote `pairs` for `examples`."""
        return cls(**{"examples" if key == "pairs" else key: record[key] for key in record})
