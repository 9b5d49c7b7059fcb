"""A model and its tokenizer, to and from a model directory: what is alike in the public classes.

`SentenceEncoder`, which needs no torch, and those whose tokenizer transformers loads have their own
way; all are uploaded as `push.py` says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

import torch

from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.directory import Layout, load_pretrained, save_model
from paraphrastic_hf.encoders.storage.locate import (
    HubOptions,
    check_hub_options,
    local_directory,
)
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer


class SavedModel(HubMixin):
    """A model with its tokenizer.

    Args:
        model: The model.
        tokenizer: Its tokenizer, with as many entries as its tables have rows.

    Raises:
        ModelError: The two do not fit each other.

    Attributes:
        layout: What its directory has.
        noun: What messages call it.
    """

    layout: ClassVar[Layout]
    noun: ClassVar[str]
    model: Any
    tokenizer: TextTokenizer

    def __init__(self, model: ParaphrasticModel, tokenizer: TextTokenizer) -> None:
        rows = sum(len(table.weight) for table in model.tables())
        if rows != tokenizer.vocab_size:
            raise ModelError(
                f"the {self.noun} has {rows:,} rows, but its tokenizer {tokenizer.vocab_size:,} "
                "entries: they are not of one model"
            )
        self.model, self.tokenizer = model, tokenizer

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        device: str | torch.device | None = None,
        **hub: Unpack[HubOptions],
    ) -> Self:
        """Load what `paraphrastic train` wrote for a recipe of the kind that this class is for.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            device: Where to compute; a GPU if there is one, if None.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as `local_directory`
                takes them.

        Returns:
            The model with its tokenizer, as an object of this class.

        Raises:
            ModelError: It is not there, is damaged, or is a model for another task.
            TypeError: There is no option of a name.
            ValueError: There is no such device.
        """
        check_hub_options(hub, cls.from_pretrained)
        where = chosen_device(device)
        path = local_directory(name, **hub)
        model: Any = load_pretrained(path, cls.layout)
        loaded = cls(model.to(where), load_tokenizer(path))
        loaded._directory = path
        return loaded

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that `from_pretrained` and transformers' Auto class read.

        Args:
            directory: Where to write; made if need be.

        Raises:
            OSError: The disk is full or the directory cannot be written.
        """
        save_model(self.model, self.tokenizer, Path(directory), self.layout)
