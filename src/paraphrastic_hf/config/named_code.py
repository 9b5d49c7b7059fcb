"""Code outside this package that a recipe names: a cost of minimum risk training, a teacher."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from paraphrastic_hf.errors import RecipeError


def imported(name: str, key: str) -> Callable[..., Any]:
    """A function or class of any code that Python can import.

    Args:
        name: `module:function` or `module:Class`.
        key: The key of a recipe that names it, for the message.

    Raises:
        RecipeError: There is no such module or name, or it is no function and no class.

    Example:
        >>> imported("math:sqrt", "cost.name")(9)
        3.0
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RecipeError(
            f"{key} must be module:function of what Python can import, got {name!r} ({error})"
        ) from error
    if not callable(found):
        raise RecipeError(f"{key}: {name} is no function")
    return found  # type: ignore[no-any-return]
