"""Averages of a table's rows: PARAGRAM-PHRASE, WORD, TRIGRAM and SP (thesis, 3.1.2, 4.4 and 5.1.1).

    g(x) = 1/n sum_i W[x_i]

The three differ in their tokenizers alone. The weights are stored as sentence-transformers' stock
`StaticEmbedding` reads them.
"""

from __future__ import annotations

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig

from paraphrastic_hf.layers.dropout import dropout
from paraphrastic_hf.layers.embedding import lookup, weighted_bag
from paraphrastic_hf.models.base import SentenceEncoderModel


@strict
class AveragingConfig(PreTrainedConfig):
    """Configuration of `AveragingModel`.

    Args:
        vocab_size: Rows of the table, with row 0 for padding.
        hidden_size: Dimensions; the thesis uses 300, and 1,024 at scale.
        embedding_dropout: Probability that a number of a token's vector is zeroed in training.
        word_dropout: Probability that a whole token's vector is zeroed in training.
        initializer_std: Standard deviation of the initial rows; 1 in SP, 0.01 in ParaNMT's TRIGRAM.
    """

    model_type = "paraphrastic-averaging"

    vocab_size: int = 20000
    hidden_size: int = 300
    embedding_dropout: float | int = 0.0
    word_dropout: float | int = 0.0
    initializer_std: float | int = 1.0
    pad_token_id: int | None = 0


class AveragingModel(SentenceEncoderModel):
    """The mean of a text's table rows (thesis, section 3.1.2).

    Example:
        >>> model = AveragingModel(AveragingConfig(vocab_size=10, hidden_size=4)).eval()
        >>> model(torch.tensor([[2, 3]])).sentence_embedding.shape
        torch.Size([1, 4])
    """

    config_class = AveragingConfig

    def __init__(self, config: AveragingConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.initializer_std)
            with torch.no_grad():
                module.weight[0].zero_()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        if not isinstance(value, nn.Embedding):
            raise TypeError(f"the table must be an nn.Embedding, got {type(value).__name__}")
        self.embedding = value

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self._drop(self.embedding(input_ids))
        return states * attention_mask.unsqueeze(-1).to(states.dtype)

    def embed(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        kept = attention_mask.bool()
        ids, lengths = input_ids[kept], kept.sum(1)  # (tokens,), (batch,)
        weights = torch.repeat_interleave(1 / lengths.clamp(min=1), lengths)
        if not self.training or not self.config.embedding_dropout:
            weights = dropout(weights, self.config.word_dropout, self.training)
            return self._bag(ids, lengths, weights)
        states = self._drop(self._rows(ids)) * weights.unsqueeze(-1)  # (tokens, dim)
        text_of_token = torch.repeat_interleave(lengths)
        return states.new_zeros(len(lengths), states.shape[1]).index_add(0, text_of_token, states)

    def _bag(self, ids: Tensor, lengths: Tensor, weights: Tensor) -> Tensor:
        if self.embedding.sparse:
            return weighted_bag(self.embedding.weight, ids, lengths, weights)
        offsets = F.pad(lengths.cumsum(0), (1, 0))
        weights = weights.to(self.embedding.weight.dtype)
        return F.embedding_bag(
            ids,
            self.embedding.weight,
            offsets,
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )

    def _rows(self, ids: Tensor) -> Tensor:
        return lookup(self.embedding.weight, ids) if self.embedding.sparse else self.embedding(ids)

    def _drop(self, states: Tensor) -> Tensor:
        """Zero whole tokens, then single numbers, scaling what is kept (inverted dropout)."""
        word, number = self.config.word_dropout, self.config.embedding_dropout
        if self.training and word:
            kept = torch.ones_like(states[..., :1])
            states = states * dropout(kept, word, True)
        return dropout(states, number, self.training)
