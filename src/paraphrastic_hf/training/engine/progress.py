"""Counters and best score of a run."""

from dataclasses import dataclass


@dataclass
class Progress:
    """Counters and best score, as recorded in checkpoints and `run.json`."""

    epoch: int = 0  # from 0
    position: int = 0  # examples of the epoch so far
    step: int = 0  # optimizer steps so far
    examples: int = 0  # so far
    seconds: float = 0.0  # of training, without evaluation
    best_score: float | None = None  # highest development score
    best_step: int | None = None
    next_evaluation: int = 0  # step of the next evaluation
    next_checkpoint: int = 0  # step of the next checkpoint
