"""What tells two models apart in a score's signature: short hashes of the numbers and of the
tokenizer, the same on every machine and however the model was loaded or stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from paraphrastic_hf.encoding.encoder import SentenceEncoder

DIGITS = 12
SETTINGS = (
    "lowercase", "keep_unknown", "spaced", "orders", "padding_mode", "spans_spaces", "marks",
)  # fmt: skip


def weights_hash(model: Any) -> str:
    """Hash of every parameter by name, shape and float32 value; of sentence-transformers' settings
    too, where they change vectors.

    A model that shows no parameters is named by its class alone.
    """
    digest = hashlib.blake2b(digest_size=32)
    for name, tensor in _tensors(model):
        digest.update(f"{name} {tensor.shape} {tensor.dtype.kind}\n".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    for module in getattr(model, "children", tuple)():
        if hasattr(module, "get_config_dict"):  # of sentence-transformers
            settings = json.dumps(module.get_config_dict(), sort_keys=True, default=str)
            digest.update(f"{type(module).__name__} {settings}\n".encode())
    for name in ("truncate_dim", "prompts", "default_prompt_name", "max_seq_length"):
        if getattr(model, name, None):
            digest.update(f"{name} {getattr(model, name)}\n".encode())
    digest.update(type(model).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def has_weights(model: Any) -> bool:
    """Whether `weights_hash` tells a model from another of its class."""
    return any(True for _ in _tensors(model))


def tokenizer_hash(tokenizer: Any) -> str:
    """Hash of a tokenizer's kind, entries, scores and settings."""
    digest = hashlib.blake2b(digest_size=32)
    backend = plain_backend(tokenizer)
    inner = getattr(tokenizer, "inner", None)  # of one that adds marks
    if hasattr(tokenizer, "tokens") and hasattr(tokenizer, "lowercase"):  # ours
        settings = {name: getattr(tokenizer, name, None) for name in SETTINGS}
        digest.update(f"{type(tokenizer).__name__} {settings}\n".encode())
        digest.update("\0".join(tokenizer.tokens()).encode("utf-8", "surrogatepass"))
        if hasattr(tokenizer, "unigram"):
            digest.update(tokenizer.unigram()[1].astype("<f4").tobytes())
        for part in [*getattr(tokenizer, "parts", []), *filter(None, [inner])]:
            digest.update(tokenizer_hash(part).encode())
    elif backend is not None:
        digest.update(backend.to_str().encode())
    else:
        digest.update(type(tokenizer).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def plain_backend(tokenizer: Any) -> Tokenizer | None:
    """A copy of the `tokenizers` part of a Hugging Face tokenizer without truncation and padding,
    which calls switch on and leave on; None if it has none."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        return None
    backend = Tokenizer.from_str(backend.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def _tensors(model: Any) -> Iterable[tuple[str, np.ndarray]]:
    if isinstance(model, SentenceEncoder):
        table = model.table()
        if table is not None:
            return [("embedding.weight", table.astype("<f4", copy=False))]
        model = model.model
    if not hasattr(model, "state_dict"):
        return []
    state = model.state_dict()
    return ((name, _plain(state[name])) for name in sorted(state))


def _plain(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().cpu()
    array = (tensor.float() if tensor.is_floating_point() else tensor.long()).numpy()
    return np.asarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
