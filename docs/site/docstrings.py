"""Docstrings as griffe expects them: `Example:`, which it draws as prose, is its `Examples:`; and a
class without `__init__`, such as a config, has fields in `Args:`, which are its attributes."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Sections(griffe.Extension):
    """Renames these sections in every docstring."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each object once it is read."""
        if obj.docstring is None:
            return
        text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
        if obj.is_class and "__init__" not in obj.members:
            text = re.sub(r"^Args:$", "Attributes:", text, flags=re.MULTILINE)
        obj.docstring.value = text
