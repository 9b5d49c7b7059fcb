"""What tells two models apart in a score's signature: short hashes of the numbers and of the
tokenizer, the same on every machine and however the model was loaded or stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from paraphrastic_hf.encoding.encoder import SentenceEncoder

DIGITS = 12


def weights_hash(model: Any) -> str:
    """Hash of every parameter by name, shape and float32 value; of the modules' settings too where
    sentence-transformers keeps them apart.

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
    digest.update(type(model).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def tokenizer_hash(tokenizer: Any) -> str:
    """Hash of a tokenizer's kind, entries, scores and case."""
    digest = hashlib.blake2b(digest_size=32)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(tokenizer, "tokens") and hasattr(tokenizer, "lowercase"):  # ours
        digest.update(f"{type(tokenizer).__name__} {tokenizer.lowercase}\n".encode())
        digest.update("\0".join(tokenizer.tokens()).encode("utf-8", "surrogatepass"))
        if hasattr(tokenizer, "unigram"):
            _, scores, keeps_unknown = tokenizer.unigram()
            digest.update(scores.astype("<f4").tobytes() + bytes([keeps_unknown]))
    elif hasattr(backend, "to_str"):  # of `tokenizers`
        digest.update(backend.to_str().encode())
    else:
        digest.update(type(tokenizer).__name__.encode())
    return digest.hexdigest()[:DIGITS]


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
