"""Any model by name: ours, or one that sentence-transformers reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.encoding.locate import DEFAULT_MODEL
from paraphrastic_hf.errors import ModelError


def load_encoder(name: str | os.PathLike[str] = DEFAULT_MODEL, *, num_threads: int = -1) -> Any:
    """A `SentenceEncoder` for a packaged model, a directory or Hub repository of ours, else a
    `SentenceTransformer`, whose threads are torch's.

    Raises:
        ModelError: Neither can load it.
    """
    try:
        return SentenceEncoder.from_pretrained(name, num_threads=num_threads)
    except ModelError as ours:
        if not (Path(name) / "modules.json").exists() and Path(name).exists():
            raise
        try:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(str(name))
        except Exception as theirs:
            raise ModelError(
                f"cannot load {name}: {ours}; sentence-transformers: {theirs}"
            ) from theirs
