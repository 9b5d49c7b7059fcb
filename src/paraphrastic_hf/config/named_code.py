from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from paraphrastic_hf.errors import RecipeError


def imported(name: str, key: str) -> Callable[..., Any]:
    """Import user code that a recipe names, such as a cost function or a teacher.

    Args:
        name: `module:function` or `module:Class`.
        key: Recipe key that holds the name, for error messages.

    Example:
        >>> imported("math:sqrt", "cost.name")(9)
        3.0
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RecipeError(
            f"{key} must be an importable module:function, got {name!r} ({error})"
        ) from error
    if not callable(found):
        raise RecipeError(f"{key} must be a function or class, got {name!r}")
    return found  # type: ignore[no-any-return]
