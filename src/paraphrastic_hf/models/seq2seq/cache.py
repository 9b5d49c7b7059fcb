"""Two names for the cache argument of models that generate.

transformers 5.24 calls the argument `cache`. Earlier versions call it `past_key_values`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def takes_cache(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Let a model's `forward` accept its `cache` as `past_key_values` too.

    Caches of fixed size are not supported.

    Raises:
        ValueError: In the call, if both names are given or the cache has a fixed size.

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
                raise ValueError("past_key_values is another name of cache. Pass only one")
            kwargs["cache"] = past_key_values
        if getattr(kwargs.get("cache"), "is_compileable", False):
            raise ValueError(
                f"cache of {type(model).__name__} must be dynamic. Leave out cache_implementation"
            )
        return forward(model, *args, **kwargs)

    return named
