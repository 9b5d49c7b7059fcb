"""Loader of translators: encoder-decoders (thesis, 7.3) and generative models (5.4)."""

import os
from typing import Any

import torch

from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.tasks import check_translation
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
    """Load an encoder-decoder or a generative model as a function from lines to translations.

    Takes the arguments of `Translator.from_pretrained`.
    """
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
