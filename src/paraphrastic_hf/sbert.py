"""Loads encoders that sentence-transformers' stock modules cannot express, such as TRIGRAM.

The `modules.json` of such models names `EncoderModule`, so its import path must not change. They
load with `SentenceTransformer(directory, trust_remote_code=True)` if this package is installed.
Averages over words and sentencepieces load as the stock `StaticEmbedding` instead.
"""

import math
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sentence_transformers.base.modules.input_module import InputModule
from torch import Tensor

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, load_model, save_model
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.load import load_tokenizer

HUB_OPTIONS = ("subfolder", "token", "cache_folder", "revision", "local_files_only")


class EncoderModule(InputModule):
    """Any encoder of this package as the first module of a `SentenceTransformer`.

    Args:
        encoder: The model with its tokenizer.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> model = SentenceTransformer("runs/trigram", trust_remote_code=True)  # doctest: +SKIP
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.encoder = encoder.model
        self._sentence_encoder = encoder
        self.tokenizer = encoder.tokenizer

    @classmethod
    def load(cls, model_name_or_path: str, **kwargs: Any) -> Self:
        """Load a directory or Hub repository written by this package.

        Args:
            model_name_or_path: Directory or repository.
            kwargs: `revision`, `token`, `cache_folder`, `local_files_only` and `subfolder`, as in
                sentence-transformers. All other keywords are ignored.

        Raises:
            ModelError: If the model does not exist, is damaged or was not written by this package.
        """
        known = {name: kwargs[name] for name in HUB_OPTIONS if name in kwargs}
        directory = cls.load_dir_path(model_name_or_path, **known)
        if directory is None:
            raise ModelError(f"{model_name_or_path} is neither a directory nor a Hub repository")
        # sentence-transformers applies its own settings and moves the model to a device
        path = Path(directory)
        return cls(SentenceEncoder(load_model(path), load_tokenizer(path)))

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write model and tokenizer. sentence-transformers writes its own settings."""
        directory = Path(output_path)
        save_model(self.encoder, self.tokenizer, directory, SENTENCE_ENCODER, modules=False)

    def preprocess(
        self, inputs: list[str], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Tokenize texts with a prompt before each: `input_ids`, `attention_mask`, (texts, seq)."""
        texts = self._prepend_prompt(inputs, prompt) if prompt else inputs
        ids = self._sentence_encoder.tokenizer.encode_batch(texts)
        input_ids, mask = ids.padded(np.arange(len(ids)))
        return {"input_ids": torch.from_numpy(input_ids), "attention_mask": torch.from_numpy(mask)}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add `token_embeddings`, (texts, seq, dim), and `sentence_embedding`, (texts, dim)."""
        output = self.encoder(features["input_ids"], features["attention_mask"], return_dict=True)
        features["token_embeddings"] = output.last_hidden_state
        features["sentence_embedding"] = output.sentence_embedding
        return features

    def get_embedding_dimension(self) -> int:
        return self._sentence_encoder.dimension

    @property
    def max_seq_length(self) -> float:
        """Infinity, because texts are not cut."""
        return math.inf
