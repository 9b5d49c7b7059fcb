"""Identity of a model: short hashes of its weights, tokenizer and configuration.

Score signatures and cached results contain these hashes. The hashes do not depend on the machine,
on the loader (`AutoModel`, `SentenceEncoder`, sentence-transformers), or on whether the table is
packed. `files_hash` identifies a model of any library without loading it, but depends on the file
format.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.static.table import BLOCK
from paraphrastic_hf.encoders.storage.locate import (
    DERIVED_MODELS,
    holds_model,
    local_directory,
    packaged_folder,
)
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.files import PARTS_FOLDER, content_hash, digest_of, read_json

DIGITS = 12  # of a short hash, hexadecimal
SETTINGS = (  # tokenizer settings of this package that change tokens
    "lowercase", "keep_unknown", "spaced", "orders", "padding_mode", "spans_spaces", "marks",
)  # fmt: skip
# config keys about storage and loading; keys that start with _ are also skipped
BOOKKEEPING = (
    "transformers_version",
    "dtype",
    "torch_dtype",
    "architectures",
    "auto_map",
    "packed",
)
# averaging classes: table and tokenizer alone determine their embeddings
MEANS = ("AveragingModel", "StaticEmbedding")
# files outside the model: cards, plots, training records, copies for other libraries
BESIDE = (
    *(".*", "*.md", "*.png", "*.html", "*.log", "*.part", "*.yaml"),
    *("LICENSE*", "run.json", "train*", "model2vec", "onnx"),
)
STOCK_SETTINGS = ("truncate_dim", "prompts", "default_prompt_name", "max_seq_length")


def identity(model: Any) -> dict[str, str]:
    """Return 12-digit hashes of the weights, tokenizer and configuration of any model."""
    tokenizer = getattr(model, "tokenizer", None)
    if not isinstance(model, SentenceEncoder) and not has_weights(model):
        inner = getattr(model, "model", None)
        model = inner if has_weights(inner) else model
    return {
        "weights": weights_hash(model),
        "tokenizer": tokenizer_hash(tokenizer),
        "config": config_hash(model),
    }


def is_identified(model: Any, settings: Mapping[str, Any]) -> bool:
    """Return whether all hashes recorded in `settings` are those of `model`."""
    return all(settings.get(name, digits) == digits for name, digits in identity(model).items())


def files_hash(path: Path) -> str:
    """Return the SHA-256 of a weights file, or of a model's files and subfolders except `BESIDE`,
    in hexadecimal. It is empty without model files.
    """
    if path.is_file():
        return content_hash(path)
    files = {file for file in path.glob("*") if not any(fnmatch(file.name, p) for p in BESIDE)}
    for folder in [file for file in files if file.is_dir()]:
        is_module = any(folder.glob("*config.json")) and not folder.name.startswith("checkpoint")
        if is_module or folder.name == PARTS_FOLDER:
            files.update(folder.rglob("*"))
    return digest_of(path, files, _file_hash) if any(map(Path.is_file, files)) else ""


def _file_hash(path: Path) -> str:
    if path.name.endswith("config.json"):
        try:
            settings = behavior(read_json(path), in_training=True)
            return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        except ValueError:  # damaged; loading the model reports that
            pass
    return content_hash(path)


def named_hash(name: str) -> str:
    """Return the `files_hash` of a model by name, or an empty string if it cannot be found."""
    if name in DERIVED_MODELS and not holds_model(name):
        source, power = DERIVED_MODELS[name]
        return f"{files_hash(packaged_folder(source))} {power}"
    for each in (name, f"sentence-transformers/{name}"):
        with suppress(ModelError):
            return files_hash(local_directory(each))
    return ""


def weights_hash(model: Any) -> str:
    """Return a hash of parameter names, shapes and float32 values, else of the class."""
    digest = hashlib.blake2b(digest_size=32)
    if _is_table(model):
        rows = model.tokenizer.vocab_size
        digest.update(f"embedding.weight {rows, model.dimension} f\n".encode())
        for start in range(0, rows, BLOCK):  # in blocks, to save memory
            digest.update(model.table(slice(start, start + BLOCK)).astype("<f4", copy=False))
    for name, tensor in _tensors(model):
        digest.update(f"{name} {tensor.shape} {tensor.dtype.kind}\n".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    # one name for every loader, so that the hash does not depend on it
    digest.update(b"SentenceEncoder" if has_weights(model) else type(model).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def config_hash(model: Any) -> str:
    """Return a hash of the settings that affect a model's output: the config without `BOOKKEEPING`
    and training keys, generation settings, and the modules and settings of a `SentenceTransformer`.
    It is empty for averaging models, which have none.
    """
    found: list[Any] = []
    for name in STOCK_SETTINGS:
        value = getattr(model, name, None)
        value = {k: v for k, v in value.items() if v} if isinstance(value, Mapping) else value
        if value and value != math.inf:
            found.append([name, value])
    network: Any = None if _is_table(model) else _network(model)
    if hasattr(network, "state_dict") and type(network).__name__ not in MEANS:
        for module in network.children():
            if hasattr(module, "get_config_dict"):  # of sentence-transformers
                found.append([type(module).__name__, module.get_config_dict()])
        configs = [behavior(config.to_diff_dict()) for config in _configs(network)]
        found += configs or [type(network).__name__]
    if not found:
        return ""
    text = json.dumps(found, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()[:DIGITS]


def behavior(settings: Any, *, in_training: bool = False) -> Any:
    """Return the config keys that affect the output, or with `in_training` also training."""
    if isinstance(settings, Mapping):
        return {
            key: behavior(value, in_training=in_training)
            for key, value in settings.items()
            if not str(key).startswith("_")
            and key not in BOOKKEEPING
            and (in_training or not ("drop" in str(key) or str(key).startswith("init")))
        }
    if isinstance(settings, list):
        return [behavior(each, in_training=in_training) for each in settings]
    return settings


def has_weights(model: Any) -> bool:
    return _is_table(model) or any(True for _ in _tensors(model))


def tokenizer_hash(tokenizer: Any) -> str:
    """Return a hash of a tokenizer's entries, scores and settings (else, of its class)."""
    digest = hashlib.blake2b(digest_size=32)
    backend = plain_backend(tokenizer)
    inner = getattr(tokenizer, "inner", None)  # of a MarkedTokenizer
    if hasattr(tokenizer, "tokens") and hasattr(tokenizer, "lowercase"):  # of this package
        settings = {name: getattr(tokenizer, name, None) for name in SETTINGS}
        digest.update(f"{type(tokenizer).__name__} {settings}\n".encode())
        digest.update("\0".join(tokenizer.tokens()).encode("utf-8", "surrogatepass"))
        if hasattr(tokenizer, "unigram"):
            digest.update(tokenizer.unigram()[1].astype("<f4").tobytes())
        for part in [*getattr(tokenizer, "parts", []), *filter(None, [inner])]:
            digest.update(tokenizer_hash(part).encode())
    elif backend is not None:
        digest.update(backend.to_str().encode())
        for side in ("padding_side", "truncation_side"):
            if getattr(tokenizer, side, "right") != "right":
                digest.update(side.encode())
    else:
        digest.update(type(tokenizer).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def plain_backend(tokenizer: Any) -> Tokenizer | None:
    """Return a Hugging Face tokenizer's backend without truncation and padding, else None."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        return None
    backend = Tokenizer.from_str(backend.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def _network(model: Any) -> Any:
    if isinstance(model, SentenceEncoder):
        return model.model_apart()
    parts = list(getattr(model, "children", list)())
    if len(parts) == 1 and type(parts[0]).__name__ in ("StaticEmbedding", "EncoderModule"):
        return getattr(parts[0], "encoder", parts[0])
    return model


def _configs(module: Any) -> Iterator[Any]:
    config = getattr(module, "config", None)
    if hasattr(config, "to_diff_dict"):
        yield config
        if getattr(module, "generation_config", None) is not None:
            yield module.generation_config
        return
    for child in module.children():
        yield from _configs(child)


def _is_table(model: Any) -> bool:
    return isinstance(model, SentenceEncoder) and model.table(slice(0, 0)) is not None


def _tensors(model: Any) -> Iterable[tuple[str, np.ndarray]]:
    """Return the weights of a torch model by name. Empty for the table of an averaging encoder."""
    if _is_table(model):
        return []
    network = _network(model)
    if not hasattr(network, "state_dict"):
        return []
    state = network.state_dict()
    return ((name, _plain(state[name])) for name in sorted(state))


def _plain(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().cpu()
    array = (tensor.float() if tensor.is_floating_point() else tensor.long()).numpy()
    return np.asarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
