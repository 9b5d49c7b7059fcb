"""`load_encoder`: load any sentence encoder by name, from this package or sentence-transformers."""

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
    """Load a `SentenceEncoder`, or a `SentenceTransformer` if another library wrote the model."""
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
        if name is None or latent is not None:
            raise
        directory: Path | None = None
        try:
            directory = local_directory(name, **hub)
        except ModelError:  # for example a name without an organization, which only they complete
            is_theirs = not Path(name).exists()
        else:  # they would load our damaged models without an error
            is_ours = any((directory / file).exists() for file in OWN_TOKENIZER_FILES)
            is_theirs = (directory / "modules.json").exists() and not is_ours
        if not is_theirs:
            raise
        require("all", "sentence_transformers", what=f"{name} (not a model of this package)")
        try:
            from sentence_transformers import SentenceTransformer

            folder = hub.pop("cache_dir", None)
            with _bound(directory):
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


def _bound(directory: Path | None) -> AbstractContextManager[None]:
    """Bound the size of a model by its weights file, except for adapters without a base model."""
    if directory is None or any(directory.glob("**/adapter_config.json")):
        return nullcontext()
    from paraphrastic_hf.encoders.storage.bounded import bounded  # imports torch

    return bounded(directory, inside="**/")
