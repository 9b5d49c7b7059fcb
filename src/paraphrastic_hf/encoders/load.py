"""`load_encoder`: any model by name, of this package or one that sentence-transformers loads."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Unpack

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.locate import (
    HubOptions,
    check_hub_options,
    check_model_name,
    local_directory,
)
from paraphrastic_hf.errors import ModelError, in_a_line
from paraphrastic_hf.extras import require

OWN_TOKENIZER_FILES = ("paraphrastic_tokenizer.json", "ngrams.json")


def load_encoder(
    name: str | os.PathLike[str] | None = None,
    *,
    num_threads: int = -1,
    latent: str | None = None,
    device: Any = None,
    trust_remote_code: bool = False,
    **hub: Unpack[HubOptions],
) -> Any:
    """A `SentenceEncoder` of a model of this package, else a `SentenceTransformer`.

    Args:
        name: A directory, the name of a packaged model, or that of a Hub repository. None is
            `english`.
        num_threads: As of `SentenceEncoder`; a `SentenceTransformer` uses the threads of torch.
        latent: The variable of a generative model whose mean is the embedding; `semantic` if None.
        device: Where it computes; if None, averages of this package on the CPU, and others on a
            GPU, if there is one.
        trust_remote_code: Whether Python code that comes with a model for sentence-transformers may
            run; it can do whatever you can.
        **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as `local_directory` takes
            them.

    Raises:
        ModelError: Neither can load it, or nothing can be of that name.
        MissingExtraError: What it needs is not installed.
        TypeError: There is no option of a name.
        ValueError: `num_threads` is 0 or below -1, or there is no such device.
    """
    check_hub_options(hub, load_encoder)
    if name is not None:
        check_model_name(name)
    try:
        return SentenceEncoder.from_pretrained(
            name, num_threads=num_threads, latent=latent, device=device, **hub
        )
    except ModelError as ours:
        from huggingface_hub.errors import LocalEntryNotFoundError

        if isinstance(ours.__cause__, LocalEntryNotFoundError):
            hub["local_files_only"] = True  # the Hub does not answer, and was waited for once
        if name is None or latent is not None or not _is_theirs(name, hub):
            raise
        require("all", "sentence_transformers", what=f"{name}, no model of this package,")
        try:
            from sentence_transformers import SentenceTransformer

            bound = _bound(name, hub)
            folder = hub.pop("cache_dir", None)
            with bound:
                return SentenceTransformer(
                    str(name),
                    device=None if device is None else str(device),
                    cache_folder=None if folder is None else str(folder),
                    trust_remote_code=trust_remote_code,
                    **hub,
                )
        except Exception as theirs:
            raise ModelError(
                f"cannot load {name}: {ours}; sentence-transformers: {in_a_line(theirs)}"
            ) from theirs


def _bound(name: str | os.PathLike[str], hub: HubOptions) -> AbstractContextManager[None]:
    """What refuses sizes that the weights cannot have; nothing for adapters of other weights, and
    for a name to which sentence-transformers adds its organization."""
    try:
        directory = local_directory(name, **hub)
    except ModelError:
        return nullcontext()
    is_adapter = any(directory.glob("**/adapter_config.json"))
    from paraphrastic_hf.encoders.storage.bounded import bounded  # imports torch

    return nullcontext() if is_adapter else bounded(directory, inside="**/")


def _is_theirs(name: str | os.PathLike[str], hub: HubOptions) -> bool:
    """Whether sentence-transformers may load what this package has refused. It would load a damaged
    model of this package without a word, so it is not given one."""
    try:
        directory = local_directory(name, **hub)
    except ModelError:  # such as a name without an organization, to which it adds its own
        return not Path(name).exists()
    is_ours = any((directory / file).exists() for file in OWN_TOKENIZER_FILES)
    return (directory / "modules.json").exists() and not is_ours
