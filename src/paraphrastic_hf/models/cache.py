"""The cache of models that write (thesis, 4.6, 5.4, 6.3 and 7.3), under both of its names.

transformers 5.24 calls the argument `cache`; before, and in calls written before, it is
`past_key_values`. An output takes it by its place, which has not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def takes_cache(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Let a model's `forward` be given its `cache` as `past_key_values` too.

    Raises:
        ValueError: From the call: it names both.

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
        return forward(model, *args, **kwargs)

    return named
