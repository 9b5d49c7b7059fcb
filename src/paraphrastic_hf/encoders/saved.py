import os
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

import torch

from paraphrastic_hf.encoders.device import chosen_device
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.directory import Layout, load_pretrained, save_model
from paraphrastic_hf.encoders.storage.locate import HubOptions, check_hub_options, local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer


class SavedModel(HubMixin):
    """Base class that pairs a torch model, called `noun` in messages, with its tokenizer."""

    layout: ClassVar[Layout]
    noun: ClassVar[str]
    model: Any
    tokenizer: TextTokenizer

    def __init__(self, model: ParaphrasticModel, tokenizer: TextTokenizer) -> None:
        rows = sum(len(table.weight) for table in model.tables())
        if rows != tokenizer.vocab_size:
            raise ModelError(
                f"The {self.noun} has {rows:,} embedding rows, but the tokenizer has "
                f"{tokenizer.vocab_size:,} entries. Load both from one directory"
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
        """Load a model directory or a Hub repository, by default on a GPU if available.

        `hub` has `revision`, `token`, `cache_dir` and `local_files_only`, as in `SentenceEncoder`.
        """
        check_hub_options(hub, cls.from_pretrained)
        where = chosen_device(device)
        path = local_directory(name, **hub)
        model: Any = load_pretrained(path, cls.layout)
        loaded = cls(model.to(where), load_tokenizer(path))
        loaded._directory = path
        return loaded

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory for `from_pretrained` and transformers' Auto class."""
        save_model(self.model, self.tokenizer, Path(directory), self.layout)
