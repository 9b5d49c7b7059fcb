"""What `Tagger` and `SentenceParser` share: a model of words and its tokenizer, to and from a model
directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

from paraphrastic_hf.encoding.directory import Layout, load_pretrained, save_model
from paraphrastic_hf.encoding.locate import HubOptions, local_directory
from paraphrastic_hf.encoding.push import Saved
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.supervised import SupervisedModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer

Model = TypeVar("Model", bound=SupervisedModel)


class ModelOfWords(Saved, Generic[Model]):
    """A supervised model over a word encoder, with the tokenizer of its words.

    Attributes:
        layout: What its directory has.
        model_class: The class of the model.
        noun: What messages call it.
    """

    layout: ClassVar[Layout]
    model_class: ClassVar[type[Any]]
    noun: ClassVar[str]

    def __init__(self, model: Model, tokenizer: TextTokenizer) -> None:
        rows = sum(len(table.weight) for table in model.tables())
        if rows != tokenizer.vocab_size:
            raise ModelError(
                f"the word encoder has {rows:,} rows, but its tokenizer {tokenizer.vocab_size:,} "
                "entries: they are not of one model"
            )
        self.model, self.tokenizer = model, tokenizer

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **hub: Unpack[HubOptions]) -> Self:
        """Load what `paraphrastic train` wrote for a recipe with `task.kind: tagging` or `parsing`,
        whichever this class is for.

        Args:
            name: A directory, or a Hub repository, `someone/model`.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as `local_directory`
                takes them.

        Returns:
            The model with its tokenizer, as an object of this class.

        Raises:
            ModelError: It is not there, is damaged, or is a model for another task.
            TypeError: There is no option of a name.
        """
        path = local_directory(name, **hub)
        tokenizer = load_tokenizer(path)
        model: Any = load_pretrained(path, cls.layout)
        if not isinstance(model, cls.model_class):
            raise ModelError(f"{path} holds a {type(model).__name__}, which is no {cls.noun}")
        loaded = cls(model, tokenizer)
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
