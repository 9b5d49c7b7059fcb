"""The cache of models that write (thesis, 4.6, 5.4, 6.3 and 7.3), under both of its names.

transformers 5.24 calls the argument `cache`; before, and in calls written before, it is
`past_key_values`. An output takes it by its place, which has not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def takes_cache(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Let a model's `forward` be given its `cache` as `past_key_values` too, and refuse one of a
    size that is settled beforehand, which no decoder of this package fills.

    Raises:
        ValueError: From the call: it names both, or the cache does not grow.

    Example:
        >>> @takes_cache
        ... def forward(model, cache=None):
        ...     return cache
        >>> forward(None, past_key_values="what was read")
        'what was read'
    """

    @wraps(forward)
    def named(model: Any, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
        if past_key_values is not None:
            if kwargs.get("cache") is not None:
                raise ValueError("`past_key_values` is the old name of `cache`: give `cache` alone")
            kwargs["cache"] = past_key_values
        if getattr(kwargs.get("cache"), "is_compileable", False):
            raise ValueError(
                f"{type(model).__name__} takes a cache that grows: leave cache_implementation out"
            )
        return forward(model, *args, **kwargs)

    return named
