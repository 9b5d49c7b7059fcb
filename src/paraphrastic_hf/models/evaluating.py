"""A model without its dropout (Wieting and Gimpel, 2017, 4.2) for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A model without dropout for as long as this takes; then it is in the mode that it was in.

    Args:
        model: Any module.

    Example:
        >>> layer = nn.Dropout(0.5)
        >>> with evaluating(layer):
        ...     print(layer.training)
        False
        >>> layer.training
        True
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
