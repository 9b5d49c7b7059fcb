"""Translators of either kind behind one call: encoder-decoders that attend to every word (thesis,
7.3), and generative models that write from a sentence's variables (5.4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import torch

from paraphrastic_hf.encoding.locate import local_directory
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import Writing, Written
from paraphrastic_hf.models import GENERATIVE
from paraphrastic_hf.text.files import read_json


class Translate(Protocol):
    """From lines to the translations of each."""

    def __call__(
        self, lines: Sequence[str], writing: Writing, *, scores: bool = True
    ) -> list[list[Written]]:
        """Translate lines.

        Args:
            lines: The lines.
            writing: How to search or sample.
            scores: Whether `nats` of each translation is wanted.
        """


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
    """A translator of either kind.

    Args:
        name: A directory, or a Hub repository: an encoder-decoder, or a generative model.
        source: The language of the lines, for models that must be told.
        to: The language to write; may be None where the model writes one alone.
        prefix: Text that goes before every line, as T5 wants it.
        batch_size: The most lines translated at a time, at least 1.
        device: Where to compute; a GPU if there is one, if None.
        trust_remote_code: Whether Python code that comes with the model may run.

    Raises:
        ModelError: It is not there, damaged, or does not translate.
        ValueError: The model has no such language, or reads any and was told a source or a prefix.

    Example:
        >>> translate = load_translator("runs/bgt", to="fr")  # doctest: +SKIP
        >>> translate(["a cat sleeps"], Writing(beams=5))[0][0].text  # doctest: +SKIP
        'un chat dort'
    """
    options: Any = {"batch_size": batch_size, "device": device}
    if not writes_from_variables(name):
        translator = Translator.from_pretrained(
            name,
            source=source,
            to=to,
            prefix=prefix,
            trust_remote_code=trust_remote_code,
            **options,
        )

        def by_words(
            lines: Sequence[str], writing: Writing, *, scores: bool = True
        ) -> list[list[Written]]:
            return translator.write(translator.encode(lines), writing, scores=scores)

        return by_words
    if source or prefix:
        raise ValueError(f"{name} reads any of its languages: leave out source (--from) and prefix")
    generator = LatentGenerator.from_pretrained(name, **options)
    generator.task("translate", to)  # or it is refused now

    def by_meaning(
        lines: Sequence[str], writing: Writing, *, scores: bool = True
    ) -> list[list[Written]]:
        return generator.translate(lines, to=to, writing=writing)

    return by_meaning


def writes_from_variables(name: str | os.PathLike[str]) -> bool:
    """Whether a model is a generative one of sentence pairs; what it is else, loading will say.

    Args:
        name: A directory, or a Hub repository.
    """
    try:
        kind = read_json(local_directory(name) / "config.json")["model_type"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return kind in [model.config_class.model_type for model in GENERATIVE]
