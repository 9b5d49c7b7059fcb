"""Base of encoders that read one table of token vectors (thesis, 3.1.2).

They read texts as concatenated tokens without padding. A family overrides `pool_rows`, `states`
or `states_of`.
"""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.embedding import rows_of, weighted_bag
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.pooling import mean_rows, sum_rows
from paraphrastic_hf.models.base import SentenceEncoderModel


@strict
class TableConfig(PreTrainedConfig):
    """Settings of every encoder with one table of token vectors.

    Args:
        vocab_size: Rows of the table, including row 0 for padding.
        hidden_size: Dimensions of a sentence vector, 300 or 1,024 in the thesis.
        embedding_size: Dimensions of a token vector. `hidden_size` if None.
        embedding_dropout: Probability that one value of a token's vector is zeroed in training.
        word_dropout: Probability that a token's whole vector is zeroed in training.
        initializer_std: Standard deviation of the initial rows, 1 in SP, 0.01 in ParaNMT's TRIGRAM.
    """

    vocab_size: int = 20000
    hidden_size: int = 300
    embedding_size: int | None = None
    embedding_dropout: float | int = 0.0
    word_dropout: float | int = 0.0
    initializer_std: float | int = 1.0
    pad_token_id: int | None = 0

    @property
    def table_size(self) -> int:
        """Dimensions of a token vector."""
        return self.hidden_size if self.embedding_size is None else self.embedding_size

    def require_equal_sizes(self, model: str) -> None:
        """Raise ValueError if token vectors and sentence vectors differ in size."""
        if self.table_size != self.hidden_size:
            raise ValueError(f"embedding_size {self.table_size} of {model} must equal hidden_size")


class TableModel(SentenceEncoderModel):
    """Base class of encoders with one table of token vectors."""

    def __init__(self, config: TableConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.table_size)

    def _init_weights(self, module: nn.Module) -> None:
        if module is self.embedding:
            nn.init.normal_(module.weight, std=self.config.initializer_std)
            with torch.no_grad():
                module.weight[0].zero_()
        else:
            self.initialize_composition(module)

    def initialize_composition(self, module: nn.Module) -> None:
        """Initialize one module of the parameters outside the table."""

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        if not isinstance(value, nn.Embedding):
            raise TypeError(f"The table must be an nn.Embedding, got {type(value).__name__}")
        self.embedding = value

    def states(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Return token states, (tokens, dim), from token vectors, (tokens, table_size).

        Lengths, (batch,), may be 0. The default returns the token vectors.
        """
        return rows

    def states_of(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return token states, (tokens, dim), from ids, (tokens,).

        Override this to compute something once per distinct id.
        """
        return self.states(self.token_rows(ids), lengths)

    def pool_rows(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return sentence vectors, (batch, dim), from token states. The default is the mean."""
        return mean_rows(states, lengths)

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        kept = attention_mask.bool()
        return padded_from_flat(self.states_of(input_ids[kept], kept.sum(1)), kept)

    def pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        kept = attention_mask.bool()
        return self.pool_rows(states[kept], kept.sum(1))

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.pool_rows(self.states_of(ids, lengths), lengths)

    def token_rows(self, ids: Tensor) -> Tensor:
        """Return the vectors of ids, (tokens, table_size), with dropout in training."""
        rows = rows_of(self.embedding, ids)
        word, number = self.config.word_dropout, self.config.embedding_dropout
        if self.training and word:
            rows = rows * dropout(torch.ones_like(rows[:, :1]), word, True)
        return dropout(rows, number, self.training)

    def distinct_rows(self, ids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the vectors of the distinct ids, (distinct, table_size), and each token's row.

        With dropout, equal ids have different vectors, so the result is the vectors of all tokens
        and None.
        """
        if self.training and (self.config.word_dropout or self.config.embedding_dropout):
            return self.token_rows(ids), None
        distinct, places = torch.unique(ids, return_inverse=True)
        return self.token_rows(distinct), places

    def weighted_sum(self, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
        """Return weighted sums of token vectors, (batch, table_size), with dropout in training.

        `weights`, (tokens,), get no gradient.
        """
        if not self.training or not self.config.embedding_dropout:
            weights = dropout(weights, self.config.word_dropout, self.training)
            return self._bag(ids, lengths, weights)
        return sum_rows(self.token_rows(ids) * weights.unsqueeze(-1), lengths)

    def _bag(self, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
        if self.embedding.sparse:
            return weighted_bag(self.embedding.weight, ids, lengths, weights)
        return F.embedding_bag(
            ids,
            self.embedding.weight,
            F.pad(lengths.cumsum(0), (1, 0)),
            mode="sum",
            per_sample_weights=weights.to(self.embedding.weight.dtype),
            include_last_offset=True,
        )
