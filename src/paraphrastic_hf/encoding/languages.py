"""The languages of a model, as its directory tells them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.encoding.push import CARD

RECIPE = "recipe.yaml"


def languages_of(directory: Path | None) -> list[str]:
    """Codes of the languages that a model was made for.

    Args:
        directory: A model directory; None if there is none.

    Returns:
        Those that its card declares, else those of the sources in its recipe, in their order; an
        empty list if neither says any.
    """
    if directory is None:
        return []
    text = _read(directory / CARD)
    declared = _parsed(text.split("---\n")[1]).get("language") if text.startswith("---\n") else None
    if declared:
        return [declared] if isinstance(declared, str) else [str(each) for each in declared]
    data = _parsed(_read(directory / RECIPE)).get("data")
    sources = data.get("sources") if isinstance(data, dict) else None
    found = [
        str(language)
        for source in sources or ()
        if isinstance(source, dict)
        for language in source.get("languages") or (["en"] if source.get("path") else [])
    ]
    return list(dict.fromkeys(found))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(text: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
