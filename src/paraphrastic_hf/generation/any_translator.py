"""Loader of translators: encoder-decoders (thesis, 7.3) and generative models (5.4)."""

import os
from collections.abc import Mapping
from typing import Any

import torch

from paraphrastic_hf.encoders.storage.locate import LOADERS, OWN, check_model_kind, local_directory
from paraphrastic_hf.generation.latent import LatentGenerator, chosen_task
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import Translate


def load_translator(
    name: str | os.PathLike[str],
    *,
    source: str | None = None,
    to: str | None = None,
    prefix: str = "",
    batch_size: int = 64,
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
) -> Translate:
    """Load an encoder-decoder or a generative model as a function from lines to translations."""
    options: Any = {"batch_size": batch_size, "device": device}
    directory = local_directory(name)
    if not check_translation(directory, source=source, to=to, prefix=prefix):
        options |= {"prefix": prefix, "trust_remote_code": trust_remote_code}
        translator = Translator.from_pretrained(name, source=source, to=to, **options)
        return lambda lines, writing, *, scores=True: translator.write(
            translator.encode(lines), writing, scores=scores
        )
    generator = LatentGenerator.from_pretrained(name, **options)
    return lambda lines, writing, *, scores=True: generator.translate(lines, to=to, writing=writing)


def check_translation(
    name: str | os.PathLike[str], *, source: str | None, to: str | None, prefix: str
) -> bool:
    """Check that a model can translate, by its config. Return whether it is generative."""
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


def tasks_of(config: Mapping[str, Any]) -> list[str]:
    """Return the tasks of a generative model, given the content of its `config.json`."""
    languages = config["languages"]
    found = []
    for verb, key in (("translate", "translates"), ("reconstruct", "reconstructs")):
        chosen = config.get(key, True)
        if isinstance(chosen, bool):  # true means all languages, false none
            chosen = languages if chosen else ()
        found += [f"{verb}_{language}" for language in languages if language in chosen]
    return found
