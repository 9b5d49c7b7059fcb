"""Base of the encoder-decoders of this package (thesis, 4.6, 6.3 and 7.3)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin, PreTrainedConfig
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.models.base import NO_LABEL, ParaphrasticModel


@strict
class Seq2SeqConfig(PreTrainedConfig):
    """Settings of every encoder-decoder of this package.

    Args:
        max_position_embeddings: Maximum length of a text in tokens, including the end mark.
        is_encoder_decoder: Required by transformers.
        use_cache: Whether generation keeps the states of earlier steps.
        pad_token_id: Id of padding.
        bos_token_id: Id of the start mark, if any.
        eos_token_id: Id of the end mark, or several ids.
        decoder_start_token_id: Id that the decoder reads first.
    """

    attribute_map = {"num_hidden_layers": "decoder_layers"}

    max_position_embeddings: int = 1024
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None


class DecoderInputs(NamedTuple):
    """Inputs of one pass of a decoder.

    Attributes:
        is_token: (batch, source), False for padding of the source.
        cache: Self-attention cache with the states of earlier steps, or None.
        returned: Cache to return, the object that transformers passed, or None.
    """

    ids: Tensor
    is_token: Tensor
    cache: Any
    returned: Any


class Seq2SeqModel(ParaphrasticModel, GenerationMixin):
    """Encoder-decoder. Subclasses have `encoder`, with a `table` of tokens, and `output`."""

    auto_class: ClassVar[str] = "AutoModelForSeq2SeqLM"
    is_resizable = False
    accepts_loss_kwargs = False  # so that transformers' Trainer divides by accumulation steps

    def get_input_embeddings(self) -> nn.Embedding:
        table: nn.Embedding = self.encoder.table
        return table

    def get_output_embeddings(self) -> nn.Linear:
        output: nn.Linear = self.output
        return output

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        encoder: nn.Module = self.encoder
        return encoder

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Return the decoder inputs for labels, (batch, seq)."""
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
        """Return the decoder's inputs, with defaults for missing arguments of `forward`."""
        if attention_mask is None:
            attention_mask = memory.new_ones(memory.shape[:2])
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids or labels must be given")
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
    """Return the output of `forward`. If `loss` is None, compute it from the labels."""
    if labels is not None and logits is not None:
        predicted = logits.flatten(0, -2).float()
        loss = F.cross_entropy(predicted, labels.reshape(-1).long(), ignore_index=NO_LABEL)
    output = Seq2SeqLMOutput(loss, logits, inputs.returned, encoder_last_hidden_state=memory)
    return model._to_tuple(output, return_dict)
