"""What the encoder-decoders of this package share (thesis, 4.6, 6.3 and 7.3).

A model has an `encoder` with a `table` of tokens, and an `output` layer that scores them.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.models.base import NO_LABEL, ParaphrasticModel


class DecoderInputs(NamedTuple):
    """What one pass of a decoder reads.

    Attributes:
        ids: (batch, seq), the tokens that it reads.
        is_token: False for padding of the source, (batch, source).
        cache: Its own cache, which keeps the states of earlier steps; None without one.
        returned: The cache that is given back, as transformers gave it; None without one.
    """

    ids: Tensor
    is_token: Tensor
    cache: Any
    returned: Any


class Seq2SeqModel(ParaphrasticModel, GenerationMixin):
    """An encoder-decoder that reads one sentence and writes another."""

    auto_class: ClassVar[str] = "AutoModelForSeq2SeqLM"
    is_resizable = False
    accepts_loss_kwargs = False  # transformers' Trainer divides by accumulation steps itself

    def get_input_embeddings(self) -> nn.Embedding:
        table: nn.Embedding = self.encoder.table
        return table

    def get_output_embeddings(self) -> nn.Linear:
        output: nn.Linear = self.output
        return output

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """What reads a source, for `generate`."""
        encoder: nn.Module = self.encoder
        return encoder

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """What the decoder reads to predict labels, (batch, seq)."""
        ids = labels.masked_fill(labels == NO_LABEL, self.config.pad_token_id)
        start = ids.new_full((len(ids), 1), self.config.decoder_start_token_id)
        return torch.cat([start, ids[:, :-1]], 1)

    def _decoder_inputs(
        self,
        memory: Tensor,
        attention_mask: Tensor | None,
        decoder_input_ids: Tensor | None,
        labels: Tensor | None,
        cache: Any,
        use_cache: bool | None,
    ) -> DecoderInputs:
        """The arguments of `forward`, with defaults for those that are absent."""
        if attention_mask is None:
            attention_mask = memory.new_ones(memory.shape[:2])
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids or labels must say what the decoder reads")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training and labels is None
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        is_pair = isinstance(cache, EncoderDecoderCache)
        own = cache.self_attention_cache if is_pair else cache
        returned = cache if use_cache else None
        return DecoderInputs(decoder_input_ids, attention_mask.bool(), own, returned)


def scored(
    model: Seq2SeqModel,
    logits: Tensor | None,
    labels: Tensor | None,
    inputs: DecoderInputs,
    memory: Tensor,
    return_dict: bool | None,
    loss: Tensor | None = None,
) -> Seq2SeqLMOutput | tuple[Any, ...]:
    """What `forward` of an encoder-decoder returns.

    Args:
        model: The encoder-decoder.
        logits: Scores of every token as the next one, (batch, seq, vocab); None where only a loss
            was asked for.
        labels: (batch, seq) what is to be written, of which -100 does not count; None where no
            loss is asked for.
        inputs: What the decoder has read.
        memory: What the encoder gave.
        return_dict: A tuple instead, if False.
        loss: The mean cross-entropy in nats, where the model has computed it itself.
    """
    if labels is not None and logits is not None:
        predicted = logits.flatten(0, -2).float()
        loss = F.cross_entropy(predicted, labels.reshape(-1).long(), ignore_index=NO_LABEL)
    output = Seq2SeqLMOutput(loss, logits, inputs.returned, encoder_last_hidden_state=memory)
    return model._to_tuple(output, return_dict)
