"""`load_encoder`: load any sentence encoder by name, from this package or sentence-transformers."""

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
    """Load a model as a `SentenceEncoder`, or as a `SentenceTransformer` if another library wrote
    it.

    Takes the arguments of `SentenceEncoder.from_pretrained`. A `SentenceTransformer` ignores
    `num_threads`.

    Args:
        trust_remote_code: Allow Python code from the repository of a `SentenceTransformer` to run
            with all your permissions.
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
            hub["local_files_only"] = True  # the Hub did not answer, so do not wait again
        if name is None or latent is not None or not _is_theirs(name, hub):
            raise
        require("all", "sentence_transformers", what=f"{name} (not a model of this package)")
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
                f"Cannot load {name}: {ours}. sentence-transformers: {in_a_line(theirs)}"
            ) from theirs


def _bound(name: str | os.PathLike[str], hub: HubOptions) -> AbstractContextManager[None]:
    """Return a context in which building a model larger than its weights file raises an error.

    Adapters are exempt, because their file lacks the base model's weights. Names without an
    organization are exempt, because only sentence-transformers can find their files.
    """
    try:
        directory = local_directory(name, **hub)
    except ModelError:
        return nullcontext()
    is_adapter = any(directory.glob("**/adapter_config.json"))
    from paraphrastic_hf.encoders.storage.bounded import bounded  # imports torch

    return nullcontext() if is_adapter else bounded(directory, inside="**/")


def _is_theirs(name: str | os.PathLike[str], hub: HubOptions) -> bool:
    """Return whether to try sentence-transformers after this package failed to load a model.

    Damaged models of this package are excluded: sentence-transformers would load them without an
    error.
    """
    try:
        directory = local_directory(name, **hub)
    except ModelError:  # for example a name without an organization, which it completes
        return not Path(name).exists()
    is_ours = any((directory / file).exists() for file in OWN_TOKENIZER_FILES)
    return (directory / "modules.json").exists() and not is_ours
