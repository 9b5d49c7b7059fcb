"""`Weights`: the weights of a sentence encoder, read from a model directory.

For averaging models, only the table is read, without torch. The torch model is loaded on first use.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open

from paraphrastic_hf.encoders.static.table import Table, check_finite
from paraphrastic_hf.encoders.static.window import MEAN_SCALE, MOST_STEPS, Window
from paraphrastic_hf.encoders.storage.packing import has_scales, holds, width
from paraphrastic_hf.errors import ModelError, in_a_line
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import MODULES, SETTINGS, WEIGHTS, other_loader, read_json

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel


class Weights:
    """Weights of an encoder: a token table, until the torch model is requested."""

    def __init__(self, held: SentenceEncoderModel | Table, directory: Path | None = None) -> None:
        self._held, self._directory = held, directory
        self.rounding_error = held.rounding_error if isinstance(held, Table) else 0.0

    @classmethod
    def read(cls, directory: Path, *, as_table: bool) -> Weights:
        """Read a model directory: only the table, without torch, if possible and `as_table`."""
        if is_static_embedding(directory):
            return cls(Table.of(read_static_embedding(directory), directory))
        table = read_table(directory) if as_table else None
        if table is not None:
            return cls(table, directory)
        what = f"{directory} (damaged, or not an averaging model)"
        require("train", "torch", "transformers", what=what)
        from paraphrastic_hf.encoders.storage.directory import load_model

        return cls(load_model(directory))

    @property
    def model(self) -> SentenceEncoderModel:
        """Transformers model. Once loaded, it replaces the table."""
        self._held = self.model_to_save()
        return self._held

    def model_to_save(self) -> SentenceEncoderModel:
        """Return the transformers model. A table is kept, and each call builds a new model."""
        held = self._held
        if not isinstance(held, Table):
            return held
        require("train", "torch", "transformers", what="the model as a torch module")
        from paraphrastic_hf.encoders.storage.directory import load_model, model_of_table

        return load_model(self._directory) if self._directory else model_of_table(held)

    @property
    def is_table(self) -> bool:
        return isinstance(self._held, Table)

    @property
    def has_variables(self) -> bool:
        """Whether the embedding is the mean of a latent variable."""
        return hasattr(self._held, "read_variable")

    @property
    def is_averaging(self) -> bool:
        # compare names: importing the class would import torch
        return isinstance(self._held, Table) or type(self._held).__name__ == "AveragingModel"

    @property
    def entries(self) -> int:
        """Number of embedding rows, summed over all tables. It must equal the vocabulary size."""
        held = self._held
        if isinstance(held, Table):
            return len(held.numbers)
        return sum(len(table.weight) for table in held.tables())

    @property
    def dimension(self) -> int:
        held = self._held
        return held.dimension if isinstance(held, Table) else int(held.config.hidden_size)

    def table(self) -> Table | None:
        """Return the table, or None unless the model averages in float32 on the CPU."""
        held = self._held
        if isinstance(held, Table):
            return held
        if not self.is_averaging:
            return None
        weight = held.get_input_embeddings().weight.detach()
        is_plain = weight.device.type == "cpu" and str(weight.dtype) == "torch.float32"
        return Table(weight.numpy()) if is_plain and weight.is_contiguous() else None

    def written(self, directory: Path) -> None:
        """Forget that weights can be loaded from `directory`, which has just been overwritten."""
        if self._directory is not None and self._directory.resolve() == directory.resolve():
            self._directory = None

    def packed_rows(self, precision: str) -> np.ndarray | None:
        """Return the table if it is packed as `precision`, `int8` or `int4`, else None."""
        rows = self._held.numbers if isinstance(self._held, Table) else None
        return rows if rows is not None and has_scales(rows) and holds(rows, precision) else None

    def exact_table(self, name: str | None) -> Table:
        """Return the unrounded table on the CPU as float32, from which other tables are derived."""
        if self.rounding_error:
            raise ModelError(
                f"The token vectors of {name} are already rounded, by up to "
                f"{self.rounding_error:.2g} of a vector's norm. Start from the model before "
                "rounding"
            )
        if not self.is_averaging:
            raise ModelError(
                f"{type(self._held).__name__} has no token table. Use an averaging model"
            )
        if isinstance(self._held, Table):
            return self._held
        weight = self._held.get_input_embeddings().weight.detach()
        return Table.of(weight.float().cpu().numpy().copy(), name or "this encoder")


def read_table(directory: Path) -> Table | None:
    """Read the table of an averaging model. Return None for other models and damaged ones."""
    try:
        config = read_json(directory / "config.json")
        is_packed, kind = bool(config.get("packed")), config.get("model_type")
        has_window = kind == "paraphrastic-window" and is_packed
        if kind != "paraphrastic-averaging" and not has_window:
            return None
        name = "embedding.packed" if is_packed else "embedding.weight"
        with safe_open(directory / WEIGHTS, framework="numpy") as tensors:
            rows = tensors.get_tensor(name)
            window = _read_window(tensors, config, directory) if has_window else None
    except (OSError, ValueError, AttributeError, KeyError, TypeError, SafetensorError):
        return None
    if rows.ndim != 2 or has_scales(rows) != is_packed:
        return None
    if (len(rows), width(rows)) != (config.get("vocab_size"), config.get("hidden_size")):
        return None
    if is_packed:
        return replace(Table.of_packed(rows, directory), window=window)
    return Table.of(rows, directory)


def _read_window(tensors: Any, config: dict[str, Any], directory: Path) -> Window:
    size, span, features = config["hidden_size"], 2 * config["window"] + 1, config["features"]
    rows, units = min(config["context_rows"], config["vocab_size"]), config["hidden"]

    def array(name: str, *shape: int, dtype: Any = np.float32) -> np.ndarray:
        found = tensors.get_tensor(name)
        is_float = found.dtype.kind == "f" and dtype is np.float32
        if found.shape != shape or not (is_float or found.dtype == dtype):
            raise ValueError(f"{name} is {found.dtype} {found.shape}, expected {shape}")
        check_finite(found, f"{name} of {directory}")
        return np.asarray(found, dtype)

    context = array("context.packed", rows, span * features, dtype=np.int8)
    bias = array("bias.packed", features, dtype=np.int16)
    outer = array("output.weight", size, features).T / MOST_STEPS
    inner, hidden_bias = np.zeros((size + features, 0), np.float32), np.zeros(0, np.float32)
    if units:
        from_mean = MEAN_SCALE * array("from_mean.weight", units, size).T
        from_features = array("from_features.weight", units, features).T / MOST_STEPS
        inner = np.concatenate([from_mean, from_features])
        hidden_bias = array("from_mean.bias", units)
        outer = np.concatenate([outer, array("from_hidden.weight", size, units).T])
    elif "from_mean.bias" in tensors.keys():  # noqa: SIM118
        raise ValueError("config.json sets no hidden units, but the model has some")
    return Window(
        np.ascontiguousarray(context).reshape(rows, span, features),
        np.ascontiguousarray(bias),
        np.ascontiguousarray(inner),
        hidden_bias,
        np.ascontiguousarray(outer),
    )


def refuse_settings(directory: Path) -> None:
    """Refuse prompts, truncated dimensions and similarities other than the cosine."""
    path = directory / SETTINGS
    if not path.is_file():
        return
    try:
        settings = read_json(path)
        prompts = {name: text for name, text in (settings.get("prompts") or {}).items() if text}
        found = {
            "prompts": prompts,
            "truncate_dim": settings.get("truncate_dim"),
            "similarity_fn_name": settings.get("similarity_fn_name"),
        }
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"Cannot load the model in {directory}: {SETTINGS}: {error}") from error
    if found["similarity_fn_name"] == "cosine":
        del found["similarity_fn_name"]
    unread = [f"{name} {value!r}" for name, value in found.items() if value]
    if unread:
        raise ModelError(
            f"{path} sets {', '.join(unread)}, which SentenceEncoder does not support. "
            f"{other_loader(directory)}, or remove the setting from that file"
        )


def is_static_embedding(directory: Path) -> bool:
    """Return whether sentence-transformers, not this package, saved the `StaticEmbedding` model."""
    added = ("config.json", "paraphrastic_tokenizer.json")
    modules = directory / MODULES
    if any((directory / name).exists() for name in added) or not modules.is_file():
        return False
    return "StaticEmbedding" in modules.read_text(encoding="utf-8", errors="replace")


def read_static_embedding(directory: Path) -> np.ndarray:
    try:
        modules = read_json(directory / MODULES)
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        if kinds != ["StaticEmbedding"]:
            raise ModelError(
                f"{directory} has the modules {', '.join(kinds)} instead of a single "
                f"StaticEmbedding. {other_loader(directory)}"
            )
        with safe_open(directory / WEIGHTS, framework="numpy") as tensors:
            rows: np.ndarray = tensors.get_tensor("embedding.weight")
            return rows
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        if isinstance(error, ModelError):
            raise
        reason = in_a_line(error) if isinstance(error, SafetensorError) else error
        raise ModelError(f"Cannot load the model in {directory}: {reason}") from error
