"""Gated convolutional encoder-decoder (Gehring et al., 2017; thesis, 7.3).

The encoder's states are concatenated keys and values, (batch, source, 2 * embedding_size). In
generation, transformers' sliding-window cache keeps the states that a decoder layer's window
covers.
"""

from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.gated_convolution import (
    HALF,
    GatedConvolution,
    SummaryAttention,
    Window,
)
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.models.seq2seq.base import (
    Encoding,
    Seq2SeqConfig,
    Seq2SeqModel,
    of_targets,
    token_mask,
)


@strict
class GatedConvConfig(Seq2SeqConfig):
    """Configuration of `GatedConvModel`, with the settings of `Seq2SeqConfig`.

    The defaults are those of the thesis (7.3).

    Args:
        vocab_size: Number of tokens of both languages, including padding and the end mark.
        hidden_size: Dimensions of a token's state.
        embedding_size: Dimensions of the vectors of tokens and positions.
        encoder_layers: Number of convolutions of the encoder.
        decoder_layers: Number of convolutions of the decoder. An attention follows each.
        kernel_width: Tokens per window, odd.
        dropout: Probability that a value is zeroed in training, 0 to below 1.
        tie_word_embeddings: Whether encoder, decoder and output layer share one table.
    """

    model_type = "paraphrastic-gated-conv"

    vocab_size: int = 40000
    hidden_size: int = 256
    embedding_size: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 3
    kernel_width: int = 3
    dropout: float | int = 0.2
    tie_word_embeddings: bool = True

    @property
    def sliding_window(self) -> int:
        """Tokens per layer in transformers' cache."""
        return self.kernel_width

    def validate_width(self) -> None:
        if self.kernel_width % 2 == 0:
            raise ValueError(f"kernel_width must be odd, got {self.kernel_width}")


class GatedConvModel(Seq2SeqModel):
    """Translation model of gated convolutions, with attention in every decoder layer.

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 8}
        >>> config = GatedConvConfig(**sizes, eos_token_id=19, decoder_start_token_id=19)
        >>> model = GatedConvModel(config).eval()
        >>> ids = torch.tensor([[5, 6, 19]])
        >>> model(ids, labels=ids).logits.shape
        torch.Size([1, 3, 20])
    """

    config_class = GatedConvConfig
    card_sentence = (
        "A gated convolutional encoder-decoder over {{ tokens }} (thesis, 7.3). It has "
        "{{ counted(encoder_layers, 'encoder layer') }}, "
        "{{ counted(decoder_layers, 'decoder layer') }} with attention, windows of "
        "{{ kernel_width }} tokens, {{ hidden_size }} dimensions and {{ number(vocab_size) }} "
        "entries."
    )
    base_model_prefix = "gated_conv"
    _tied_weights_keys = {
        "decoder.table.weight": "encoder.table.weight",
        "output.weight": "encoder.table.weight",
    }

    def __init__(self, config: GatedConvConfig) -> None:
        super().__init__(config)
        self.encoder, self.decoder = _Encoder(config), _Decoder(config)
        self.output = Dense(config.embedding_size, config.vocab_size)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Draw normal weights that preserve the input's variance (Gehring et al., 3.5)."""
        kept = 1 - self.config.dropout
        if isinstance(module, nn.Linear):
            if module.weight is not self.encoder.table.weight:
                gain = 4 if isinstance(module, Window) else 1
                nn.init.normal_(module.weight, std=(gain * kept / module.in_features) ** 0.5)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)

    def tables(self) -> list[nn.Embedding]:
        found = [self.encoder.table, self.decoder.table]
        return list({id(table.weight): table for table in found}.values())

    def predict(
        self, ids: Tensor, encoded: Any, cache: Any, logits_at: Any, targets: Any
    ) -> Tensor:
        states = self.decoder(ids, *encoded.to_tuple(), cache)
        return of_targets(self.output(states if logits_at is None else states[logits_at]), targets)


class _Encoder(nn.Module):
    main_input_name = "input_ids"

    def __init__(self, config: GatedConvConfig) -> None:
        super().__init__()
        size, self.dropout = config.embedding_size, config.dropout
        self.table = nn.Embedding(config.vocab_size, size)
        self.positions = nn.Embedding(config.max_position_embeddings, size)
        self.widen = Dense(size, config.hidden_size)
        self.layers = nn.ModuleList(
            GatedConvolution(config.hidden_size, config.kernel_width, dropout=config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.narrow = Dense(config.hidden_size, size)
        self.share = 1 / (2 * config.decoder_layers)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> Encoding:
        is_token = token_mask(input_ids, attention_mask)
        places = (is_token.cumsum(1) - 1).clamp(min=0)
        ids = input_ids.masked_fill(~is_token, 0)
        embedded = _embed(self.table, self.positions, ids, places)
        embedded = dropout(embedded, self.dropout, self.training)
        states = self.widen(embedded)
        mask = None if is_token.all() else is_token
        for layer in self.layers:
            states = layer(states, mask)
        keys = self.narrow(states)
        if keys.requires_grad:  # scale the gradient (Gehring et al., 3.5)
            keys = keys.detach() + (keys - keys.detach()) * self.share
        return Encoding(torch.cat([keys, (keys + embedded) * HALF], -1), is_token)


class _Decoder(nn.Module):
    def __init__(self, config: GatedConvConfig) -> None:
        super().__init__()
        size, width, self.dropout = config.embedding_size, config.hidden_size, config.dropout
        self.table = nn.Embedding(config.vocab_size, size)
        self.positions = nn.Embedding(config.max_position_embeddings, size)
        self.widen = Dense(size, width)
        self.layers = nn.ModuleList(
            GatedConvolution(width, config.kernel_width, dropout=config.dropout, is_causal=True)
            for _ in range(config.decoder_layers)
        )
        self.attentions = nn.ModuleList(
            SummaryAttention(width, size) for _ in range(config.decoder_layers)
        )
        self.narrow = Dense(width, size)

    def forward(
        self, input_ids: Tensor, memory: Tensor, is_token: Tensor, cache: Any = None
    ) -> Tensor:
        known = 0 if cache is None else int(cache.get_seq_length())
        places = torch.arange(known, known + input_ids.shape[1], device=input_ids.device)
        embedded = _embed(self.table, self.positions, input_ids, places)
        embedded = dropout(embedded, self.dropout, self.training)
        states = self.widen(embedded)
        keys, values = memory.chunk(2, -1)
        for number, (layer, attention) in enumerate(zip(self.layers, self.attentions, strict=True)):
            assert isinstance(layer, GatedConvolution)
            gated = layer.gated(states, cache=cache, layer=number)
            states = (states + attention(gated, embedded, keys, values, is_token)) * HALF
        return dropout(self.narrow(states), self.dropout, self.training)


def _embed(table: nn.Embedding, positions: nn.Embedding, ids: Tensor, places: Tensor) -> Tensor:
    most = positions.num_embeddings
    if places.numel() and int(places.max()) >= most:
        raise ValueError(
            f"A text has {int(places.max()) + 1:,} tokens, more than the model's {most:,} "
            "positions. Shorten the text, or train a model with more model.positions"
        )
    return table(ids) + positions(places)
