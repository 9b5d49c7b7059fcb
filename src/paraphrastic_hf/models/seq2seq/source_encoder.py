"""Source encoder of paraphrase generators: a bidirectional LSTM (thesis, 4.6 and 6.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.packing import Packing, padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM


@dataclass
class SourceEncoding(ModelOutput):
    """Encoded source and template. Generation repeats every field for each beam.

    Attributes:
        last_hidden_state: States of the source's tokens, (batch, source, hidden).
        source_ids: Ids of the source, (batch, source), for copying.
        template_states: States of the template's tokens, (batch, template, hidden), or None.
    """

    last_hidden_state: Tensor | None = None
    source_ids: Tensor | None = None
    template_states: Tensor | None = None


class SourceEncoder(nn.Module):
    """Bidirectional LSTM over a source, then a linear map (thesis, 6.3.1).

    Example:
        >>> from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> encoder = SourceEncoder(ParaphraserConfig(**sizes))
        >>> encoder(torch.tensor([[5, 6, 19]])).last_hidden_state.shape
        torch.Size([1, 3, 8])
    """

    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__()
        size, self.dropout = config.hidden_size, config.dropout
        self.table = nn.Embedding(config.vocab_size, config.embedding_size)
        self.cells = nn.ModuleList(LSTM(config.embedding_size, size) for _ in range(2))
        self.narrow = Dense(2 * size, size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> SourceEncoding:
        """Return the states of the source's tokens, and the source's ids. Templates are ignored."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        is_token = mask.bool()
        ids, lengths = input_ids[is_token], is_token.sum(1)
        rows = dropout(self.table(ids), self.dropout, self.training)
        both = torch.cat(
            [
                read_packed(cell, rows, lengths, backward=bool(i))
                for i, cell in enumerate(self.cells)
            ],
            1,
        )
        source = input_ids.masked_fill(~is_token, 0)
        return SourceEncoding(padded_from_flat(self.narrow(both), is_token), source, None)


def read_packed(cell: nn.Module, rows: Tensor, lengths: Tensor, *, backward: bool) -> Tensor:
    """Return the states of a recurrence, (tokens, hidden), in the order of `rows`.

    `rows`, (tokens, input), are the token vectors of concatenated texts. With `backward`, the
    recurrence reads each text from its last token to its first.
    """
    packing = Packing.of(lengths, backward=backward)
    return packing.unpack(cell(packing.pack(rows), packing.sizes))
