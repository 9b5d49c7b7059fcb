"""Loading a model for a command: ours, or any that sentence-transformers reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import ModelError


def load_encoder(name: str, num_threads: int = -1) -> Any:
    """A `SentenceEncoder` for a directory of ours, else a `SentenceTransformer`, whose threads are
    torch's.

    Raises:
        ModelError: Neither can load it.
    """
    from paraphrastic_hf.encoding.encoder import SentenceEncoder

    try:
        return SentenceEncoder.from_pretrained(name, num_threads=num_threads)
    except ModelError as ours:
        if not (Path(name) / "modules.json").exists() and Path(name).exists():
            raise
        try:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(name)
        except Exception as theirs:
            raise ModelError(
                f"cannot load {name}: {ours}; sentence-transformers: {theirs}"
            ) from theirs
