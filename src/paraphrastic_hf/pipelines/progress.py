"""Who is told how far a task has come: the process that started this one, if it asked."""

from __future__ import annotations

from collections.abc import Callable

listener: Callable[[int], None] | None = None


def tell(rows: int) -> None:
    """Say that a block of so many rows is done."""
    if listener is not None:
        listener(rows)
