"""Context manager for evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch a model to evaluation mode (no dropout). Restore its former mode on exit."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
