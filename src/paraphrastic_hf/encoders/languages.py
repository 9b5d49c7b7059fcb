import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.push import CARD
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.io.files import write_json

CONFIG, RECIPE = "config.json", "recipe.yaml"
KEY = "languages"  # key in config.json


def languages_of(directory: Path | None) -> list[str]:
    """Return the distinct language codes of a model, in order, or an empty list if unknown.

    They come from the model card, else from `config.json`, else from the training recipe. A source
    of a recipe that names no languages is English.
    """
    if directory is None:
        return []
    text = _read(directory / CARD)
    declared = _parsed(text.split("---\n")[1]).get("language") if text.startswith("---\n") else None
    if declared:
        return [declared] if isinstance(declared, str) else [str(each) for each in declared]
    kept = _configuration(directory).get(KEY)
    if isinstance(kept, list) and kept:
        return list(map(str, kept))
    data = _parsed(_read(directory / RECIPE)).get("data")
    learned = data.get("languages") if isinstance(data, dict) else None
    if isinstance(learned, list) and learned:
        return list(map(str, learned))
    sources = data.get("sources") if isinstance(data, dict) else None
    found: list[str] = []
    for source in sources if isinstance(sources, list) else ():
        named = source.get("languages") if isinstance(source, dict) else []
        if not named and isinstance(source, dict) and source.get("path"):
            found.append("en")  # default language of a source
        found += map(str, named) if isinstance(named, list) else []
    return list(dict.fromkeys(found))


def written_language(directory: Path | None) -> str | None:
    """Return the target language in the recipe of a translation model. None if unknown."""
    recipe = {} if directory is None else _parsed(_read(directory / RECIPE))
    data = recipe.get("data")
    if recipe.get("kind") not in ("translation", "minimum_risk") or not isinstance(data, dict):
        return None
    written = data.get("target_language") or data.get("to")  # `to` in recipes before 0.2
    return str(written) if written else None


@contextmanager
def languages_kept(origin: Path | None, directory: Path) -> Iterator[None]:
    """Copy the languages of `origin` to a `config.json` that the `with` block writes."""
    known = languages_of(origin)
    yield
    config = _configuration(directory)
    if known and KEY not in config:
        write_json(directory / CONFIG, {**config, KEY: known})


def _configuration(directory: Path) -> dict[str, Any]:
    try:
        found = json.loads(_read(directory / CONFIG))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(text: str) -> dict[str, Any]:
    from paraphrastic_hf.config.parse_yaml import parse_yaml

    try:
        found = parse_yaml(text, "model metadata")
    except RecipeError:
        return {}
    return found if isinstance(found, dict) else {}
