"""Paraphrase generator with a Transformer encoder and a recurrent decoder (Kim et al., 2019).

This is the architecture of small Bergamot translators, whose weights can start the training. The
encoder reads a template and the sentence as one sequence, as in AESOP (Sun et al., 2021). The
decoder replaces self-attention by a simple recurrent unit (SSRU), so a step of generation takes the
same time at every position.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.attention import attend
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions
from paraphrastic_hf.models.seq2seq.base import (
    Encoding,
    Seq2SeqConfig,
    Seq2SeqModel,
    of_targets,
    token_mask,
)


@strict
class SsruConfig(Seq2SeqConfig):
    """Configuration of `SsruModel`, with the settings of `Seq2SeqConfig`.

    The defaults are the sizes of Bergamot's "tiny" models.

    Args:
        vocab_size: Number of tokens of source and output, which share one table.
        template_vocab_size: Number of template tokens.
        hidden_size: Dimensions of a state, a multiple of `heads` and even.
        encoder_layers: Number of Transformer blocks of the encoder.
        decoder_layers: Number of decoder blocks.
        heads: Number of attention heads.
        feed_forward: Number of units of a feed-forward layer.
        dropout: Probability that a value is zeroed in training, 0 to below 1.
        template: Syntax input: a full `parse`, a `template`, or `none`.
        guidance: Weight of the template in generation, at least 1. Above 1, the model raises the
            probability of what the template makes more likely (classifier-free guidance; Ho and
            Salimans, 2022). This takes twice the time.
        writes: Kind of output, always `sentence`.
    """

    model_type = "paraphrastic-ssru"

    vocab_size: int = 32000
    template_vocab_size: int = 100
    hidden_size: int = 256
    encoder_layers: int = 6
    decoder_layers: int = 2
    heads: int = 8
    feed_forward: int = 1536
    dropout: float | int = 0.0
    guidance: float | int = 1.0
    template: str = "template"
    writes: str = "sentence"
    tie_word_embeddings: bool = True

    @property
    def sliding_window(self) -> int:
        """Size of the window in transformers' cache: the last and the new state."""
        return 2


@dataclass
class SsruEncoding(Encoding):
    """Encoded template and source, as one sequence. With guidance, a second side has no template.

    Attributes:
        is_read: False for positions that the decoder does not read, (batch, sides, source).
        keys_values: Keys and values of the decoder's attention, (batch, sides, layers * 2, heads,
            source, size of a head).
    """

    is_read: Tensor | None = None
    keys_values: Tensor | None = None


class SsruEncoder(nn.Module):
    """Transformer over the tokens of a template, if given, then of a source."""

    main_input_name = "input_ids"

    def __init__(self, config: SsruConfig) -> None:
        super().__init__()
        size, self.config = config.hidden_size, config
        self.head_size = size // config.heads
        self.table = nn.Embedding(config.vocab_size, size)
        if config.template != "none":
            self.template_table = nn.Embedding(config.template_vocab_size, size)
        self.blocks = nn.ModuleList(
            TransformerBlock(size, config.heads, config.feed_forward, dropout=config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.key_value = Dense(size, config.decoder_layers * 2 * size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> SsruEncoding:
        vectors, is_token = self._embedded(self.table, input_ids, attention_mask)
        source, is_source = vectors, is_token
        if template_ids is not None:
            first, is_first = self._embedded(
                self.template_table, template_ids, template_attention_mask
            )
            vectors = torch.cat([first, vectors], 1)
            is_token = torch.cat([is_first, is_token], 1)
        states = self._read(vectors, is_token)
        is_read, read = is_token[:, None], self.key_value(states)[:, None]
        if template_ids is not None and self.config.guidance > 1 and not self.training:
            # The same source may occur with many templates. Read it once.
            known = F.pad(input_ids.masked_fill(~is_source, -1), (0, 1))  # for empty sources
            distinct, kept = torch.unique(known, dim=0, return_inverse=True)
            places = torch.arange(len(kept), device=kept.device)
            rows = kept.new_zeros(len(distinct)).scatter_(0, kept, places)
            free = self.key_value(self._read(source[rows], is_source[rows]))[kept]
            length = template_ids.shape[1]
            read = torch.stack([read[:, 0], F.pad(free, (0, 0, length, 0))], 1)
            is_read = torch.stack([is_token, F.pad(is_source, (length, 0))], 1)
        keys_values = read.unflatten(-1, (-1, self.config.heads, self.head_size))
        return SsruEncoding(
            states, is_token, is_read, keys_values.permute(0, 1, 3, 4, 2, 5).contiguous()
        )

    def _read(self, vectors: Tensor, is_token: Tensor) -> Tensor:
        states = dropout(vectors, self.config.dropout, self.training)
        for block in self.blocks:
            states = block(states, mask=None if is_token.all() else is_token)
        return states

    @staticmethod
    def _embedded(table: nn.Embedding, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        is_token = token_mask(ids, mask)
        places = (is_token.cumsum(1) - 1).clamp(min=0)  # padding does not count
        return embedded(table, ids, places), is_token


class SsruBlock(nn.Module):
    """Decoder block: recurrent unit, attention to the encoder's states, feed-forward layer."""

    def __init__(self, config: SsruConfig) -> None:
        super().__init__()
        size, self.heads, self.dropout = config.hidden_size, config.heads, config.dropout
        self.candidate, self.forget = nn.Linear(size, size, bias=False), Dense(size, size)
        self.query, self.output = Dense(size, size), Dense(size, size)
        self.widen, self.narrow = Dense(size, config.feed_forward), Dense(config.feed_forward, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))

    def forward(
        self, states: Tensor, cell: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the states after the block, (batch, seq, hidden), and the last cell.

        `cell` is the cell before the first state, (batch, hidden). Keys and values of the encoder's
        states are (batch, heads, source, size of a head), and `mask` is True for its tokens.
        """
        forget = torch.sigmoid(self.forget(states).float())
        added = (1 - forget) * self.candidate(states)
        cells = []
        for kept, new in zip(forget.unbind(1), added.unbind(1), strict=True):
            cell = kept * cell + new
            cells.append(cell)
        states = self._add(states, torch.relu(torch.stack(cells, 1)), 0)
        queries = self.query(states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        gathered = attend(queries, keys, values, mask=mask)
        states = self._add(states, self.output(gathered.transpose(1, 2).flatten(2)), 1)
        wide = torch.relu(self.widen(states))
        return self._add(states, self.narrow(wide), 2), cell

    def _add(self, states: Tensor, branch: Tensor, norm: int) -> Tensor:
        return self.norms[norm](states + dropout(branch, self.dropout, self.training))


class SsruModel(Seq2SeqModel):
    """Model that writes a paraphrase, with the syntax of a template if one is given."""

    config_class = SsruConfig
    card_sentence = (
        "a Transformer encoder of {{ counted(encoder_layers, 'block') }} that reads "
        "{{ 'a template and ' if template != 'none' else '' }}{{ tokens }}, and a recurrent "
        "decoder of {{ counted(decoder_layers, 'block') }} (Kim et al., 2019), with "
        "{{ hidden_size }} dimensions and {{ number(vocab_size) }} entries."
    )
    base_model_prefix = "ssru"
    _tied_weights_keys = {"output.weight": "encoder.table.weight"}

    def __init__(self, config: SsruConfig) -> None:
        super().__init__(config)
        self.encoder = SsruEncoder(config)
        self.blocks = nn.ModuleList(SsruBlock(config) for _ in range(config.decoder_layers))
        self.output = Dense(config.hidden_size, config.vocab_size)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            if module.weight is not self.encoder.table.weight:
                nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.hidden_size**-0.5)

    def predict(
        self, ids: Tensor, encoded: Any, cache: Any, logits_at: Any, targets: Any
    ) -> Tensor:
        start = cache.get_seq_length() if cache is not None else 0
        places = torch.arange(start, start + ids.shape[1], device=ids.device)
        vectors = embedded(self.encoder.table, ids, places)
        if not start:  # like Marian, the first input is its position alone
            first = sinusoidal_positions(places[:1], vectors.shape[-1])
            vectors = torch.cat([vectors[:, :1] * 0 + first, vectors[:, 1:]], 1)
        states = dropout(vectors, self.config.dropout, self.training)
        sides = 1 if logits_at is not None else encoded.is_read.shape[1]
        states = self._write(states.repeat_interleave(sides, 0), encoded, cache, sides)
        logits = self.output(states if logits_at is None else states[logits_at])
        if sides == 1:
            return of_targets(logits, targets)
        wanted, free = logits.float().log_softmax(-1).unflatten(0, (-1, 2)).unbind(1)
        return free + self.config.guidance * (wanted - free)

    def _write(self, states: Tensor, encoded: Any, cache: Any, sides: int) -> Tensor:
        """Return the decoder's states, (batch * sides, seq, hidden), after those in the cache.

        The cache keeps the cells of all sides of a text in one row.
        """
        is_read = encoded.is_read[:, :sides].flatten(0, 1)
        mask = None if is_read.all() else is_read[:, None, None]
        parts = encoded.keys_values[:, :sides].flatten(0, 1).unbind(1)
        start = cache.get_seq_length() if cache is not None else 0
        for layer, block in enumerate(self.blocks):
            cell = states.new_zeros(len(states), states.shape[2])
            if start:
                cell = cache.layers[layer].keys[:, 0, -1].reshape(cell.shape)
            states, cell = block(states, cell, *parts[2 * layer : 2 * layer + 2], mask)
            if cache is not None:
                kept = cell.reshape(-1, 1, 1, sides * cell.shape[1])
                kept = kept.expand(-1, 1, states.shape[1], -1)
                cache.update(kept, kept, layer)
        return states


def embedded(table: nn.Embedding, ids: Tensor, places: Tensor) -> Tensor:
    """Return scaled token vectors plus the vectors of their positions, (batch, seq, dim)."""
    vectors = table(ids) * math.sqrt(table.embedding_dim)
    return vectors + sinusoidal_positions(places, table.embedding_dim)
