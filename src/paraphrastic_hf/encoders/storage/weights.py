"""`Weights`: what a sentence encoder computes with, read from a model directory.

The table of an averaging model is read without torch. The model itself is loaded when it is first
asked for; other kinds of model are loaded at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError, safe_open

from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.encoders.storage.packing import has_scales, holds, width
from paraphrastic_hf.errors import ModelError, in_a_line
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import MODULES, SETTINGS, WEIGHTS, other_loader, read_json

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel


class Weights:
    """A table until the model is asked for; from then on the model, which may be trained.

    Args:
        held: An encoder of this package, or the table of an averaging model.
        directory: Where the model of an unchanged table can be loaded from; None to make one.

    Attributes:
        rounding_error: That of the table, also once the model is there.
    """

    def __init__(self, held: SentenceEncoderModel | Table, directory: Path | None = None) -> None:
        self._held, self._directory = held, directory
        self.rounding_error = held.rounding_error if isinstance(held, Table) else 0.0

    @classmethod
    def read(cls, directory: Path, *, as_table: bool) -> Weights:
        """The weights of a model directory.

        Args:
            directory: One that `directory.save_model` wrote, or sentence-transformers of a
                `StaticEmbedding`.
            as_table: Whether a table will do, if there is one that can be read without torch. For
                character n-grams, whose tokenizer needs transformers, torch is the faster.

        Raises:
            ModelError: A file is missing or damaged, or it is no encoder of this package.
            MissingExtraError: It does not average, and torch or transformers is not installed.
        """
        if is_static_embedding(directory):
            return cls(Table.of(read_static_embedding(directory), directory))
        table = read_table(directory) if as_table else None
        if table is not None:
            return cls(table, directory)
        what = f"{directory}, which is damaged or does more than average,"
        require("train", "torch", "transformers", what=what)
        from paraphrastic_hf.encoders.storage.directory import load_model

        return cls(load_model(directory))

    @property
    def model(self) -> SentenceEncoderModel:
        """The encoder itself; the table is given up for it."""
        self._held = self.model_to_save()
        return self._held

    def model_to_save(self) -> SentenceEncoderModel:
        """The encoder; a table is kept, and its model made anew each time."""
        held = self._held
        if not isinstance(held, Table):
            return held
        require("train", "torch", "transformers", what="the model as a torch module")
        from paraphrastic_hf.encoders.storage.directory import averaging_model, load_model

        return load_model(self._directory) if self._directory else averaging_model(held.rows())

    @property
    def is_table(self) -> bool:
        """Whether the model has not been asked for, so that torch is not needed."""
        return isinstance(self._held, Table)

    @property
    def has_variables(self) -> bool:
        """Whether the model infers latent variables, and embeds by the mean of one."""
        return hasattr(self._held, "read_variable")

    @property
    def is_averaging(self) -> bool:
        """Whether embeddings are means of the rows of one table."""
        # by name, since the class itself would bring in torch
        return isinstance(self._held, Table) or type(self._held).__name__ == "AveragingModel"

    @property
    def entries(self) -> int:
        """How many entries the tokenizer must have: the rows of all tables."""
        held = self._held
        if isinstance(held, Table):
            return len(held.numbers)
        return sum(len(table.weight) for table in held.tables())

    @property
    def dimension(self) -> int:
        """How many numbers an embedding has."""
        held = self._held
        return held.dimension if isinstance(held, Table) else int(held.config.hidden_size)

    def table(self) -> Table | None:
        """The table as the fast path reads it: once the model is there, that is the model's own
        memory. None for other kinds of model, and for one that is not on the CPU in float32."""
        held = self._held
        if isinstance(held, Table):
            return held
        if not self.is_averaging:
            return None
        weight = held.get_input_embeddings().weight.detach()
        is_plain = weight.device.type == "cpu" and str(weight.dtype) == "torch.float32"
        return Table(weight.numpy()) if is_plain and weight.is_contiguous() else None

    def written(self, directory: Path) -> None:
        """Note that something was saved to a directory, from which nothing is loaded again."""
        if self._directory is not None and self._directory.resolve() == directory.resolve():
            self._directory = None

    def packed_rows(self, precision: str) -> np.ndarray | None:
        """The table as it is held, if it is held in `int8` or `int4` and that is asked for."""
        rows = self._held.numbers if isinstance(self._held, Table) else None
        return rows if rows is not None and has_scales(rows) and holds(rows, precision) else None

    def exact_table(self, name: str | None) -> Table:
        """The table to make others from, also of a model on another device or in another precision.

        Args:
            name: Of the encoder, for messages.

        Raises:
            ModelError: The encoder does not average, or its table was rounded.
        """
        if self.rounding_error:
            raise ModelError(
                f"{name} is rounded already, by up to {self.rounding_error:.2g} of a row; "
                "begin from the exact encoder"
            )
        if not self.is_averaging:
            raise ModelError(
                f"{type(self._held).__name__} has no table to change; only averaging models have"
            )
        if isinstance(self._held, Table):
            return self._held
        weight = self._held.get_input_embeddings().weight.detach()
        return Table.of(weight.float().cpu().numpy().copy(), name or "this encoder")


def read_table(directory: Path) -> Table | None:
    """The table of an averaging model, read without torch.

    Returns:
        None where the directory holds another kind of model, or what is damaged: `load_model` then
        says what is wrong.

    Raises:
        ModelError: A number is NaN or infinite.
    """
    try:
        config = read_json(directory / "config.json")
        if config.get("model_type") != "paraphrastic-averaging":
            return None
        is_packed = bool(config.get("packed"))
        name = "embedding.packed" if is_packed else "embedding.weight"
        with safe_open(directory / WEIGHTS, framework="numpy") as tensors:
            rows = tensors.get_tensor(name)
    except (OSError, ValueError, AttributeError, TypeError, SafetensorError):
        return None
    if rows.ndim != 2 or has_scales(rows) != is_packed:
        return None
    if (len(rows), width(rows)) != (config.get("vocab_size"), config.get("hidden_size")):
        return None
    if is_packed:
        return Table.of_packed(rows, directory)
    with np.errstate(over="ignore"):  # `Table.of` refuses what becomes infinite
        return Table.of(np.ascontiguousarray(rows, np.float32), directory)


def refuse_settings(directory: Path) -> None:
    """Refuse settings of sentence-transformers by which it gives other vectors or scores than this
    package would: prompts with text, fewer dimensions, another similarity than the cosine.

    Raises:
        ModelError: The directory has such settings, or they cannot be read.
    """
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
        raise ModelError(f"cannot load the model in {directory}: {SETTINGS}: {error}") from error
    if found["similarity_fn_name"] == "cosine":
        del found["similarity_fn_name"]
    unread = [f"{name} {value!r}" for name, value in found.items() if value]
    if unread:
        raise ModelError(
            f"{path} has {', '.join(unread)}, which SentenceEncoder does not follow: "
            f"{other_loader(directory)}, or take what is not wanted out of that file"
        )


def is_static_embedding(directory: Path) -> bool:
    """Whether a directory is what stock sentence-transformers saves of a `StaticEmbedding`: it has
    none of the files that transformers or this package would add."""
    added = ("config.json", "paraphrastic_tokenizer.json")
    modules = directory / MODULES
    if any((directory / name).exists() for name in added) or not modules.is_file():
        return False
    return "StaticEmbedding" in modules.read_text(encoding="utf-8", errors="replace")


def read_static_embedding(directory: Path) -> np.ndarray:
    """The rows of a `StaticEmbedding` that sentence-transformers saved, (vocab, dim) float32.

    Raises:
        ModelError: A file is damaged, or other modules change what the table gives.
    """
    try:
        modules = read_json(directory / MODULES)
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        if kinds != ["StaticEmbedding"]:
            raise ModelError(
                f"{directory} has the modules {', '.join(kinds)}, not a StaticEmbedding alone; "
                f"{other_loader(directory)}"
            )
        with safe_open(directory / WEIGHTS, framework="numpy") as tensors:
            rows = tensors.get_tensor("embedding.weight")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        if isinstance(error, ModelError):
            raise
        said = in_a_line(error) if isinstance(error, SafetensorError) else error
        raise ModelError(f"cannot load the model in {directory}: {said}") from error
    with np.errstate(over="ignore"):  # `Table.of` refuses what becomes infinite
        return np.ascontiguousarray(rows, np.float32)
