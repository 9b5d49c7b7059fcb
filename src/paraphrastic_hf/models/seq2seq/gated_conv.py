"""The gated convolutional encoder-decoder (Gehring et al., 2017; thesis, 7.3), the model that the
thesis trains by minimum risk.

The encoder gives keys, its outputs, and values, to which the embeddings that it read are added; in
`encoder_last_hidden_state` they stand side by side, (batch, seq, 2 * embedding_size), so that
`generate` needs nothing of ours. While it writes, each layer of the decoder keeps the states that
its window still reaches, which is a sliding window of transformers' own cache.
"""

from __future__ import annotations

from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.gated_convolution import (
    HALF,
    GatedConvolution,
    SummaryAttention,
    Window,
)
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.models.seq2seq.base import Seq2SeqModel, scored
from paraphrastic_hf.models.seq2seq.cache import takes_cache

SIZES = (
    *("vocab_size", "hidden_size", "embedding_size", "encoder_layers", "decoder_layers"),
    *("kernel_width", "max_position_embeddings"),
)


@strict
class GatedConvConfig(PreTrainedConfig):
    """Configuration of a `GatedConvModel`; the defaults are the thesis's (7.3).

    Args:
        vocab_size: Number of tokens of both languages, with padding and the end mark.
        hidden_size: Numbers of a token's state in the layers.
        embedding_size: Numbers of a row of the tables of tokens and positions.
        encoder_layers: Number of gated convolutions of the encoder.
        decoder_layers: Number of those of the decoder, each with its attention.
        kernel_width: Number of tokens that a convolution reads, odd.
        dropout: Probability that a number is zeroed in training, 0 to below 1.
        max_position_embeddings: Most tokens of a text, its end mark included.
        tie_word_embeddings: Whether encoder, decoder and output layer have one table of tokens.
        is_encoder_decoder: True; by this name transformers asks.
        use_cache: Whether generation keeps the states of earlier tokens.
        pad_token_id: Id number of padding.
        bos_token_id: Id number of the mark that starts a sentence, if there is one.
        eos_token_id: Id number of the mark that ends a sentence, or several.
        decoder_start_token_id: Id number that the decoder reads first.

    Raises:
        ValueError: A size is below 1, or an even kernel.
    """

    model_type = "paraphrastic-gated-conv"
    attribute_map = {"num_hidden_layers": "decoder_layers"}

    vocab_size: int = 40000
    hidden_size: int = 256
    embedding_size: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 3
    kernel_width: int = 3
    dropout: float | int = 0.2
    max_position_embeddings: int = 1024
    tie_word_embeddings: bool = True
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def sliding_window(self) -> int:
        """Tokens that a layer reads while it writes; by this name transformers' cache asks."""
        return self.kernel_width

    def validate_sizes(self) -> None:
        """Refuse sizes that no network has, and a share of zeros that leaves nothing."""
        for name in SIZES:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.kernel_width % 2 == 0:
            raise ValueError(
                f"kernel_width must be odd, so that a window has a middle, got {self.kernel_width}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


class GatedConvModel(Seq2SeqModel):
    """Translates by gated convolutions, with attention in every layer of the decoder.

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
        "A gated convolutional encoder-decoder (thesis, 7.3) over {{ tokens }}: an encoder of "
        "{{ counted(encoder_layers, 'layer') }}, a decoder of "
        "{{ counted(decoder_layers, 'layer') }}, each with attention; windows of "
        "{{ kernel_width }}, {{ hidden_size }} dimensions, {{ '{:,}'.format(vocab_size) }} entries."
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
        """Normal, so that layers keep the variance of what they read (Gehring et al., 3.5)."""
        kept = 1 - self.config.dropout
        if isinstance(module, nn.Linear):
            if module.weight is not self.encoder.table.weight:
                gain = 4 if isinstance(module, Window) else 1
                nn.init.normal_(module.weight, std=(gain * kept / module.in_features) ** 0.5)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)

    def tables(self) -> list[nn.Embedding]:
        """The table of tokens, or that of the encoder and that of the decoder."""
        found = [self.encoder.table, self.decoder.table]
        return list({id(table.weight): table for table in found}.values())

    @takes_cache
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        labels: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        logits_at: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Scores of every token as the next one of a translation.

        Args:
            input_ids: (batch, source) ids; padding may stand on either side. A source without a
                token is nothing to attend to.
            attention_mask: (batch, source), 1 for a token; all ones if None.
            decoder_input_ids: (batch, seq) what the translation begins with; from labels if None.
            decoder_attention_mask: Ignored, (batch, seq): padding follows what is written.
            encoder_outputs: What the encoder gave, in place of `input_ids`.
            labels: (batch, seq) what is to be written; -100 where nothing is.
            cache: The cache of earlier steps of generation.
            use_cache: Whether to return a cache.
            logits_at: (batch, seq) bool; scores of these places alone, which training asks for.
            return_dict: A tuple instead, if False.

        Returns:
            `logits`, (batch, seq, vocab), or (places, vocab) with `logits_at`; with labels also
            `loss`, the mean cross-entropy in nats.

        Raises:
            ValueError: A text is longer than the model's positions, or nothing says what the
                decoder reads.
        """
        if encoder_outputs is None:
            assert input_ids is not None
            encoder_outputs = self.encoder(input_ids, attention_mask)
        memory = encoder_outputs[0]  # (batch, source, 2 * embedding_size)
        if logits_at is not None:  # asked for whole texts, not for one token after another
            use_cache = False
        inputs = self._decoder_inputs(
            memory, attention_mask, decoder_input_ids, labels, cache, use_cache
        )
        states = self.decoder(inputs.ids, memory, inputs.is_token, inputs.cache)
        if logits_at is not None:
            states = states[logits_at]
        return scored(self, self.output(states), labels, inputs, memory, return_dict)


class _Encoder(nn.Module):
    """Gated convolutions over a source."""

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
    ) -> BaseModelOutput:
        """Keys and values of every token, side by side, (batch, source, 2 * embedding_size).

        Args:
            input_ids: (batch, source) ids.
            attention_mask: (batch, source), 1 for a token; all ones if None.
            **kwargs: Ignored.
        """
        is_token = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        places = (is_token.long().cumsum(1) - 1).clamp(min=0)
        ids = input_ids.masked_fill(is_token == 0, 0)
        embedded = _embed(self.table, self.positions, ids, places)
        embedded = dropout(embedded, self.dropout, self.training)
        states = self.widen(embedded)
        mask = None if bool(is_token.all()) else is_token.bool()
        for layer in self.layers:
            states = layer(states, is_token=mask)
        keys = self.narrow(states)
        if keys.requires_grad:  # every layer of the decoder adds its gradient (Gehring et al., 3.5)
            keys = keys.detach() + (keys - keys.detach()) * self.share
        return BaseModelOutput(last_hidden_state=torch.cat([keys, (keys + embedded) * HALF], -1))


class _Decoder(nn.Module):
    """Causal gated convolutions over what is written, each with attention to the source."""

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
        """What the output layer reads, (batch, seq, embedding_size).

        Args:
            input_ids: (batch, seq) ids of what has been written, or of what follows the cache.
            memory: What the encoder gave, (batch, source, 2 * embedding_size).
            is_token: False for padding of the source, (batch, source).
            cache: Keeps the states of earlier steps of generation, if there is one.
        """
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
    """Rows of tokens and of their places, added.

    Raises:
        ValueError: A place is beyond the table.
    """
    most = positions.num_embeddings
    if places.numel() and int(places.max()) >= most:
        raise ValueError(
            f"a text of {int(places.max()) + 1:,} tokens is longer than the {most:,} positions of "
            "this model; cut it, or train one with more (model.positions)"
        )
    return table(ids) + positions(places)
