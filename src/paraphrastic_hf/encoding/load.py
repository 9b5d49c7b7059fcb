"""Any model by name: ours, or one that sentence-transformers reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.encoding.locate import local_directory
from paraphrastic_hf.errors import ModelError

OWN_TOKENIZER_FILES = ("paraphrastic_tokenizer.json", "ngrams.json")


def load_encoder(name: str | os.PathLike[str] | None = None, *, num_threads: int = -1) -> Any:
    """A `SentenceEncoder` for a packaged model (`english` without a name), a directory or Hub
    repository of ours, else a `SentenceTransformer`, whose threads are torch's.

    Raises:
        ModelError: Neither can load it.
    """
    try:
        return SentenceEncoder.from_pretrained(name, num_threads=num_threads)
    except ModelError as ours:
        if name is None or not _is_theirs(name):
            raise
        try:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(str(name))
        except Exception as theirs:
            raise ModelError(
                f"cannot load {name}: {ours}; sentence-transformers: {theirs}"
            ) from theirs


def _is_theirs(name: str | os.PathLike[str]) -> bool:
    """Whether sentence-transformers may load what this package has refused. A damaged model of ours
    it may not, though it would read its numbers."""
    try:
        directory = local_directory(name)
    except ModelError:  # such as a name without an organisation, which it completes
        return not Path(name).exists()
    is_ours = any((directory / file).exists() for file in OWN_TOKENIZER_FILES)
    return (directory / "modules.json").exists() and not is_ours
