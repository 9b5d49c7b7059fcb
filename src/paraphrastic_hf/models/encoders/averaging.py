"""Averages of token vectors: PARAGRAM-PHRASE, WORD, TRIGRAM and SP (thesis, 3.1.2, 4.4 and 5.1.1).

    g(x) = 1/n sum_i W[x_i]

The four models differ only in their tokenizers. Saved tables have the format of
sentence-transformers' `StaticEmbedding`, or are quantized to 8 or 4 bits per value.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.utils import cached_file

from paraphrastic_hf.layers.embedding import unpacked_rows
from paraphrastic_hf.models.table import TableConfig, TableModel

# Options of `from_pretrained` that locate files.
HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")


@strict
class AveragingConfig(TableConfig):
    """Configuration of `AveragingModel`, with the settings of `TableConfig`.

    Args:
        packed: Whether the table is saved as `embedding.packed`, quantized to 8 or 4 bits. False
            after loading, which converts the table to float32.
    """

    model_type = "paraphrastic-averaging"

    packed: bool = False

    def validate_size(self) -> None:
        self.require_equal_sizes("an average")

    def validate_pooling(self) -> None:
        pooling = getattr(self, "pooling", "mean")  # no field: configs accept unknown settings
        if pooling != "mean":
            raise ValueError(f"pooling of an average must be 'mean', got {pooling!r}. Omit pooling")


class AveragingModel(TableModel):
    """Mean of a text's table rows (thesis, section 3.1.2).

    Example:
        >>> model = AveragingModel(AveragingConfig(vocab_size=10, hidden_size=4)).eval()
        >>> model(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = AveragingConfig
    card_sentence = "the mean of the vectors of its {{ tokens }} (thesis, 3.1.2, 5.1.1)"
    ignores_order = True

    def __init__(self, config: AveragingConfig) -> None:
        if config.packed:  # describes a saved file, not a model in memory
            config = copy.deepcopy(config)
            config.packed = False
        super().__init__(config)
        self.post_init()

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: Any = None,
        *args: Any,
        config: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Load as in transformers. A packed table is converted to float32."""
        name = pretrained_model_name_or_path
        where = {key: kwargs[key] for key in HUB_OPTIONS if key in kwargs}
        is_given = name is None or kwargs.get("state_dict") is not None
        settings = config
        if not is_given and not isinstance(config, PreTrainedConfig):
            settings = cls.config_class.from_pretrained(config or name, **where)
        if is_given or not getattr(settings, "packed", False):
            return super().from_pretrained(name, *args, config=config, **kwargs)
        path = cached_file(name, "model.safetensors", **where)
        try:
            state = cls.unpacked(load_file(path), settings)
        except (KeyError, ValueError) as error:
            raise OSError(f"{path} lacks the packed table of its config: {error}") from error
        settings = copy.deepcopy(settings)
        settings.packed = False
        kwargs.pop("state_dict", None)
        for key in settings.to_dict().keys() & kwargs.keys() - {"dtype"}:  # config overrides
            setattr(settings, key, kwargs.pop(key))
        loaded = super().from_pretrained(None, *args, config=settings, state_dict=state, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.name_or_path = model.config._name_or_path = str(name)
        return loaded

    @classmethod
    def unpacked(cls, tensors: Mapping[str, Tensor], config: Any) -> dict[str, Tensor]:
        """Return the parameters, float32, from the tensors of a packed model's file."""
        return {"embedding.weight": unpacked_rows(tensors["embedding.packed"], config.hidden_size)}

    def with_integers(self) -> AveragingModel:
        """Return a copy that can be packed, or this model if only its table is packed."""
        return self

    def packed_state(self) -> dict[str, Tensor]:
        """Return the tensors of a packed model's file besides its table."""
        return {}

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        weights = torch.repeat_interleave(1 / lengths.clamp(min=1), lengths)
        return self.weighted_sum(ids, lengths, weights)
