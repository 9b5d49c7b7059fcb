"""Docstrings as griffe expects them: `Example:`, which it draws as prose, is its `Examples:`; and
`Args:` of a config, whose `__init__` transformers makes, are the attributes that the class has."""

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
        if isinstance(obj, griffe.Class) and "strict" in {str(d.value) for d in obj.decorators}:
            text = re.sub(r"^Args:$", "Attributes:", text, flags=re.MULTILINE)
        obj.docstring.value = text
