"""Averages of a table's rows: PARAGRAM-PHRASE, WORD, TRIGRAM and SP (thesis, 3.1.2, 4.4 and 5.1.1).

    g(x) = 1/n sum_i W[x_i]

They differ in their tokenizers alone. The weights are stored as sentence-transformers' stock
`StaticEmbedding` reads them.
"""

from __future__ import annotations

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor

from paraphrastic_hf.models.table import TableConfig, TableModel


@strict
class AveragingConfig(TableConfig):
    """Configuration of `AveragingModel`; the settings are those of `TableConfig`.

    Raises:
        ValueError: Token vectors of another size than their mean, or another pooling.
    """

    model_type = "paraphrastic-averaging"

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

    def __init__(self, config: AveragingConfig) -> None:
        super().__init__(config)
        self.post_init()

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Average the token vectors of each text, (batch, hidden_size).

        Args:
            ids: Token ids, (tokens,), text after text.
            lengths: Number of tokens of each text, (batch,); 0 gives the zero vector.
        """
        weights = torch.repeat_interleave(1 / lengths.clamp(min=1), lengths)
        return self.weighted_sum(ids, lengths, weights)
