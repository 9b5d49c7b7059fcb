"""The identity of a model: short hashes of its weights, its tokenizer and its configuration.

They stand in the signatures of scores and mark kept results. They are the same on every machine,
and however the model was loaded or stored: by `AutoModel`, `SentenceEncoder` or
sentence-transformers, packed or not. `files_hash` identifies a model of any library without loading
it; the same model in another file format has another hash.
"""

from __future__ import annotations

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

DIGITS = 12  # hexadecimal
SETTINGS = (  # of tokenizers of this package, those that change tokens
    "lowercase", "keep_unknown", "spaced", "orders", "padding_mode", "spans_spaces", "marks",
)  # fmt: skip
# keys of a config that say how a model was stored or loaded; those that begin with _ do, too
BOOKKEEPING = (
    "transformers_version",
    "dtype",
    "torch_dtype",
    "architectures",
    "auto_map",
    "packed",
)
# classes of averages: table and tokenizer alone determine their vectors
MEANS = ("AveragingModel", "StaticEmbedding")
# files that are no part of the model: cards, plots, training records
BESIDE = (
    ".*",
    "*.md",
    "*.png",
    "*.html",
    "*.log",
    "*.part",
    "*.yaml",
    "LICENSE*",
    "run.json",
    "train*",
)
STOCK_SETTINGS = ("truncate_dim", "prompts", "default_prompt_name", "max_seq_length")


def identity(model: Any) -> dict[str, str]:
    """Return the hashes that identify a model: of its weights, tokenizer and configuration.

    Args:
        model: A `SentenceEncoder`, a torch module, or anything with `encode`; or what holds a
            `model` and its `tokenizer`, as a `Translator` does.

    Example:
        >>> identity(SentenceEncoder.from_pretrained("english"))
        {'weights': '72b57844bfcf', 'tokenizer': 'fd4d784b146a', 'config': ''}
    """
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
    """Return whether no hash in the settings of kept scores contradicts the model's.

    Args:
        model: As of `identity`.
        settings: Hashes by the names of `identity`; earlier versions left some out.
    """
    return all(settings.get(name, digits) == digits for name, digits in identity(model).items())


def files_hash(path: Path) -> str:
    """Return the SHA-256 of the files of a model.

    In a directory these are all files but cards and records of training (`BESIDE`), with the
    folders of modules and tokenizers. Of a config only `behavior` counts, dropout and
    initialization included.

    Args:
        path: A model directory, or one file of weights.

    Returns:
        64 hexadecimal digits; the empty string for a directory without such files.

    Raises:
        OSError: A file cannot be read.
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
        except ValueError:  # damaged, which loading it will tell
            pass
    return content_hash(path)


def named_hash(name: str) -> str:
    """Return the `files_hash` of a named model; one on the Hub is downloaded.

    Args:
        name: A directory, the name of a packaged model, or a repository, which may lack its
            organization if that is sentence-transformers.

    Returns:
        The empty string if nothing is known of it: it does not exist, or the Hub is out of reach.
    """
    if name in DERIVED_MODELS and not holds_model(name):  # they are computed from another
        source, power = DERIVED_MODELS[name]
        return f"{files_hash(packaged_folder(source))} {power}"
    for each in (name, f"sentence-transformers/{name}"):
        with suppress(ModelError):
            return files_hash(local_directory(each))
    return ""


def weights_hash(model: Any) -> str:
    """Twelve hexadecimal digits that stand for a model's parameters: their names, shapes and values
    as float32.

    Models with the same numbers may still differ, by `config_hash`. Of a model that shows no
    parameters the digits stand for its class alone.

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
    # one name for whatever a model was loaded by, that of the first versions of these digits
    digest.update(b"SentenceEncoder" if has_weights(model) else type(model).__name__.encode())
    return digest.hexdigest()[:DIGITS]


def config_hash(model: Any) -> str:
    """Twelve hexadecimal digits that stand for the settings by which a model computes vectors.

    All keys of its config count but those of `BOOKKEEPING` and those that matter in training only;
    of a generative model also how it writes, and of a `SentenceTransformer` its modules and
    settings, such as prompts.

    Args:
        model: A `SentenceEncoder`, a torch module, or anything with `encode`.

    Returns:
        The empty string for a model without settings: an average, or one that is no torch module.
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
    """The part of a config on which vectors or texts depend.

    Args:
        settings: What `config.json` holds, or a part of it.
        in_training: Keep also what matters in training only: dropout and initialization.
    """
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
    """Whether a model shows parameters, so that it is known by more than its class."""
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
        for side in ("padding_side", "truncation_side"):
            if getattr(tokenizer, side, "right") != "right":
                digest.update(side.encode())
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


def _network(model: Any) -> Any:
    """Return the module that computes, without its wrappers."""
    if isinstance(model, SentenceEncoder):
        return model.model
    parts = list(getattr(model, "children", list)())
    if len(parts) == 1 and type(parts[0]).__name__ in ("StaticEmbedding", "EncoderModule"):
        return getattr(parts[0], "encoder", parts[0])
    return model


def _configs(module: Any) -> Iterator[Any]:
    """The outermost configs of transformers in a module."""
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
    """The weights of a model by name, but for the table of an averaging encoder."""
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
