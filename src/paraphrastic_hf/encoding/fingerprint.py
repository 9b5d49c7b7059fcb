"""Short hashes that tell models apart: one of a model's weights and one of its tokenizer.

They stand in the signatures of scores and mark kept results. They are the same on every machine,
and however the model was loaded or stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.encoding.table import BLOCK

DIGITS = 12  # hexadecimal
SETTINGS = (  # of tokenizers of this package, those that change tokens
    "lowercase", "keep_unknown", "spaced", "orders", "padding_mode", "spans_spaces", "marks",
)  # fmt: skip


def weights_hash(model: Any) -> str:
    """Twelve hexadecimal digits that stand for a model's parameters: their names, shapes and values
    as float32.

    Of a `SentenceTransformer` they also stand for the settings that change vectors, such as
    prompts, and of a generative model for the variable that it embeds by. Of a model that shows no
    parameters they stand for its class alone.

    Args:
        model: A `SentenceEncoder`, a torch module, or anything with `encode`.
    """
    digest = hashlib.blake2b(digest_size=32)
    if _is_table(model):
        digest.update(
            f"embedding.weight {model.tokenizer.vocab_size, model.dimension} f\n".encode()
        )
        for start in range(
            0, model.tokenizer.vocab_size, BLOCK
        ):  # all at once may take much memory
            digest.update(model.table(slice(start, start + BLOCK)).astype("<f4", copy=False))
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
    variable = _variable(model)
    if variable not in (None, "semantic"):  # that a generative model embeds by
        digest.update(f"variable {variable}\n".encode())
    digest.update(type(model).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def has_weights(model: Any) -> bool:
    """Whether a model shows parameters, so that `weights_hash` tells it from its class."""
    return _is_table(model) or any(True for _ in _tensors(model))


def tokenizer_hash(tokenizer: Any) -> str:
    """Twelve hexadecimal digits that stand for a tokenizer's class, entries, scores and settings.

    Args:
        tokenizer: One of this package or of Hugging Face; any other is told by its class alone.
    """
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
    """A copy of the `Tokenizer` inside a Hugging Face tokenizer; None if there is none.

    The copy has neither truncation nor padding, which a call of the original may have left on.
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        return None
    backend = Tokenizer.from_str(backend.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def _variable(model: Any) -> str | None:
    """The variable whose mean a generative model embeds by; None for other models."""
    if isinstance(model, SentenceEncoder):
        model = None if _is_table(model) else model.model
    return getattr(getattr(model, "config", None), "variable", None)


def _is_table(model: Any) -> bool:
    return isinstance(model, SentenceEncoder) and model.table(slice(0, 0)) is not None


def _tensors(model: Any) -> Iterable[tuple[str, np.ndarray]]:
    """The weights of a model by name, but for the table of an averaging encoder."""
    if isinstance(model, SentenceEncoder):
        if _is_table(model):
            return []
        model = model.model
    if not hasattr(model, "state_dict"):
        return []
    state = model.state_dict()
    return ((name, _plain(state[name])) for name in sorted(state))


def _plain(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().cpu()
    array = (tensor.float() if tensor.is_floating_point() else tensor.long()).numpy()
    return np.asarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
