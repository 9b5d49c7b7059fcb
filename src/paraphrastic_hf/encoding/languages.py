"""The languages of a model, as its directory tells them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.encoding.push import CARD
from paraphrastic_hf.errors import RecipeError

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
    found: list[str] = []
    for source in sources if isinstance(sources, list) else ():
        named = source.get("languages") if isinstance(source, dict) else []
        if not named and isinstance(source, dict) and source.get("path"):
            found.append("en")  # the default
        found += map(str, named) if isinstance(named, list) else []
    return list(dict.fromkeys(found))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(text: str) -> dict[str, Any]:
    from paraphrastic_hf.parse_yaml import parse_yaml

    try:
        found = parse_yaml(text, "what lies beside a model")
    except RecipeError:
        return {}
    return found if isinstance(found, dict) else {}
