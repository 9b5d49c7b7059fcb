"""Averages of a table's rows: PARAGRAM-PHRASE, WORD, TRIGRAM and SP (thesis, 3.1.2, 4.4 and 5.1.1).

    g(x) = 1/n sum_i W[x_i]

They differ in their tokenizers alone. The weights are stored as sentence-transformers' stock
`StaticEmbedding` reads them, or, where the config says so, in a byte or half a byte a number.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.utils import cached_file

from paraphrastic_hf.layers.embedding import unpacked_rows
from paraphrastic_hf.models.table import TableConfig, TableModel

OF_HUB = (  # what `from_pretrained` takes of where the files are
    *("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token"),
)


@strict
class AveragingConfig(TableConfig):
    """Configuration of `AveragingModel`; the other settings are those of `TableConfig`.

    Args:
        packed: Whether the file holds the table in one byte or half a byte a number, as
            `embedding.packed`. A model that has been loaded says no: its table is in float32.

    Raises:
        ValueError: Token vectors of another size than their mean, or another pooling.
    """

    model_type = "paraphrastic-averaging"

    packed: bool = False

    def validate_size(self) -> None:
        """Refuse token vectors that are not as wide as their mean.

        Raises:
            ValueError: `embedding_size` is set, and differs from `hidden_size`.
        """
        if self.embedding_size not in (None, self.hidden_size):
            raise ValueError(
                f"an average is as wide as its token vectors: embedding_size is "
                f"{self.embedding_size} and hidden_size {self.hidden_size}; leave embedding_size "
                "out, or use a projection"
            )

    def validate_pooling(self) -> None:
        """Refuse another pooling, which a config would else take as a setting it does not know.

        Raises:
            ValueError: `pooling` is set, and is not the mean.
        """
        pooling = getattr(self, "pooling", "mean")
        if pooling != "mean":
            raise ValueError(
                f"an average has no other pooling than the mean, got {pooling!r}: leave pooling "
                "out, or use a recurrent model, which has states to take the last or largest of"
            )


class AveragingModel(TableModel):
    """The mean of a text's table rows (thesis, section 3.1.2).

    Example:
        >>> model = AveragingModel(AveragingConfig(vocab_size=10, hidden_size=4)).eval()
        >>> model(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = AveragingConfig
    card_sentence = "the mean of the vectors of its {{ tokens }} (thesis, 3.1.2, 5.1.1)"
    ignores_order = True

    def __init__(self, config: AveragingConfig) -> None:
        if config.packed:  # which is said of a file
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
        """As in transformers; a table that is stored packed is unpacked.

        Raises:
            OSError: There is no such file, or its table is not of the size that the config says.
        """
        name, where = pretrained_model_name_or_path, {k: kwargs[k] for k in OF_HUB if k in kwargs}
        is_given = name is None or kwargs.get("state_dict") is not None
        settings = config
        if not is_given and not isinstance(config, PreTrainedConfig):
            settings = cls.config_class.from_pretrained(config or name, **where)
        if is_given or not getattr(settings, "packed", False):
            return super().from_pretrained(name, *args, config=config, **kwargs)
        path = cached_file(name, "model.safetensors", **where)
        try:
            rows = unpacked_rows(load_file(path)["embedding.packed"], settings.hidden_size)
        except (KeyError, ValueError) as error:
            raise OSError(f"{path} holds no packed table as its config says: {error}") from error
        settings = copy.deepcopy(settings)
        settings.packed = False
        kwargs.pop("state_dict", None)
        for key in settings.to_dict().keys() & kwargs.keys() - {"dtype"}:  # settings by name
            setattr(settings, key, kwargs.pop(key))
        state = {"embedding.weight": rows}
        loaded = super().from_pretrained(None, *args, config=settings, state_dict=state, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.name_or_path = model.config._name_or_path = str(name)
        return loaded

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Average the token vectors of each text, (batch, hidden_size).

        Args:
            ids: Token ids, (tokens,), text after text.
            lengths: Number of tokens of each text, (batch,); 0 gives the zero vector.
        """
        weights = torch.repeat_interleave(1 / lengths.clamp(min=1), lengths)
        return self.weighted_sum(ids, lengths, weights)
