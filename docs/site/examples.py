"""Docstrings have a section `Example:`; griffe knows it as `Examples:`, and draws it as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Renames the section in every docstring."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each object once it is read."""
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub("Examples:", obj.docstring.value)
