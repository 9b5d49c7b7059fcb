"""Tasks of generative models, such as `translate_fr` and `reconstruct_en`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from paraphrastic_hf.encoders.storage.locate import LOADERS, OWN, check_model_kind


def tasks_of(config: Mapping[str, Any]) -> list[str]:
    """Return the tasks of a generative model, given the content of its `config.json`.

    Example:
        >>> tasks_of({"languages": ["en", "fr"], "translates": ["fr"], "reconstructs": ["en"]})
        ['translate_fr', 'reconstruct_en']
        >>> tasks_of({"languages": ["en", "fr"], "reconstructs": False})
        ['translate_en', 'translate_fr']
    """
    languages = config["languages"]
    found = []
    for verb, key in (("translate", "translates"), ("reconstruct", "reconstructs")):
        chosen = config.get(key, True)
        if isinstance(chosen, bool):  # true means all languages, false none
            chosen = languages if chosen else ()
        found += [f"{verb}_{language}" for language in languages if language in chosen]
    return found


def chosen_task(tasks: Sequence[str], verb: str, language: str | None) -> str:
    """Return the task of a verb, `translate` or `reconstruct`, that writes `language`.

    The language may be None if the model writes only one.

    Example:
        >>> chosen_task(["translate_fr", "reconstruct_en"], "translate", None)
        'translate_fr'
    """
    known = [task.split("_", 1) for task in tasks]
    able = [of for name, of in known if name == verb]
    if language is None and len(able) == 1:
        language = able[0]
    if language not in able:
        into = "translates into" if verb == "translate" else "reconstructs"
        if not able:
            trained = ", ".join(tasks) or "nothing"
            raise ValueError(f"This model {into} no language. Its tasks: {trained}")
        option = "to" if verb == "translate" else "language"
        asked = f"so choose one, such as --{option} {able[0]}"
        asked = asked if language is None else f"not {language!r}"
        raise ValueError(f"This model {into} {', '.join(able)}, {asked}")
    return f"{verb}_{language}"


def check_translation(
    name: str | os.PathLike[str], *, source: str | None, to: str | None, prefix: str
) -> bool:
    """Raise an error if a model cannot do a translation. Only its configuration is read.

    Return whether the model is a generative model of sentence pairs.
    """
    config = check_model_kind(name, "Translator", "LatentGenerator")
    kind = str(config.get("model_type")).removeprefix(OWN)
    if "LatentGenerator" not in LOADERS.get(kind, ()):
        return False
    if source or prefix:
        raise ValueError(
            f"{name} is a generative model, which takes no source language or prefix. Leave out "
            "source (--from) and prefix (--prefix)"
        )
    chosen_task(tasks_of(config), "translate", to)
    return True
