"""Base of the encoder-decoders of this package (thesis, 4.6, 6.3 and 7.3)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin, PreTrainedConfig
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils import ModelOutput

from paraphrastic_hf.losses.likelihood import log_likelihoods
from paraphrastic_hf.models.base import NO_LABEL, ParaphrasticModel, takes_cache


@strict
class Seq2SeqConfig(PreTrainedConfig):
    """Settings of every encoder-decoder of this package. Others have transformers' meaning.

    Args:
        max_position_embeddings: Maximum length of a text in tokens, including the end mark.
    """

    attribute_map = {"num_hidden_layers": "decoder_layers"}

    max_position_embeddings: int = 1024
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None


@dataclass
class Encoding(ModelOutput):
    """Encoded source. Generation repeats every field for each beam."""

    last_hidden_state: Tensor | None = None  # states of the tokens, (batch, source, dim)
    is_token: Tensor | None = None  # False for padding, (batch, source)


def token_mask(ids: Tensor, mask: Tensor | None) -> Tensor:
    """Return an attention mask as booleans, all true if it is None."""
    return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()


def of_targets(scores: Tensor, targets: Tensor | None) -> Tensor:
    """Return scores, (positions, vocab), or the log probabilities of `targets`, (positions,)."""
    return scores if targets is None else log_likelihoods(scores.float(), targets.long())


def reads_template(config: Any) -> bool:
    """Return whether an encoder-decoder reads a parse or template."""
    return getattr(config, "template", "none") != "none"


class Seq2SeqModel(ParaphrasticModel, GenerationMixin):
    """Encoder-decoder. Subclasses have `encoder`, with a `table`, `output` and `predict`."""

    auto_class: ClassVar[str] = "AutoModelForSeq2SeqLM"
    is_resizable = False
    accepts_loss_kwargs = False  # so that transformers' Trainer divides by accumulation steps

    @property
    def reads_template(self) -> bool:
        return reads_template(self.config)

    def tables(self) -> list[nn.Embedding]:
        tables = [self.encoder.table]
        return [*tables, self.encoder.template_table] if self.reads_template else tables

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.table

    def get_output_embeddings(self) -> nn.Linear:
        return self.output

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        return self.encoder

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Return the decoder inputs for labels, (batch, seq)."""
        ids = labels.masked_fill(labels == NO_LABEL, self.config.pad_token_id)
        start = ids.new_full((len(ids), 1), self.config.decoder_start_token_id)
        return torch.cat([start, ids[:, :-1]], 1)

    def predict(
        self, ids: Tensor, encoded: Any, cache: Any, logits_at: Any, targets: Any
    ) -> Tensor:
        """Return the logits, or for `targets` the log probabilities of the targets, (positions,).

        For the arguments see `forward`. `encoded` is the output of the encoder.
        """
        raise NotImplementedError

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
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        logits_at: Tensor | None = None,
        targets: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Return the logits of the next token. A model that copies returns log probabilities.

        Args:
            input_ids: (batch, source) ids, padded on either side. Sources may be empty.
            attention_mask: (batch, source), 1 for a token. All ones if None.
            decoder_input_ids: (batch, seq) first tokens of the output. Derived from labels if None.
            decoder_attention_mask: (batch, seq). Ignored, because padding follows the output.
            encoder_outputs: Output of the encoder. Replaces the source, the template and masks.
            labels: (batch, seq) target tokens, -100 to ignore.
            cache: Cache of earlier generation steps.
            use_cache: Whether to return a cache.
            template_ids: (batch, template) ids of a parse or template.
            template_attention_mask: (batch, template), 1 for a token. All ones if None.
            logits_at: (batch, seq) bool. In training, compute only these logits.
            targets: (positions,) target tokens at `logits_at`. The output then has `loss` but no
                `logits`, which saves memory, and time in a model that copies.
            return_dict: Return a tuple if False.

        Returns:
            `logits`, (batch, seq, vocab), or (positions, vocab) with `logits_at`. With labels or
            targets also `loss`, the mean cross-entropy in nats.

        Raises:
            ValueError: If a text is too long for the model, the decoder has no input, or
                `template_ids` is missing.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(
                input_ids,
                attention_mask,
                template_ids=template_ids,
                template_attention_mask=template_attention_mask,
            )
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids or labels must be given")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if logits_at is not None:  # training, without a cache
            use_cache = False
        elif use_cache is None:
            use_cache = self.config.use_cache and not self.training and labels is None
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        inner = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
        found = self.predict(decoder_input_ids, encoder_outputs, inner, logits_at, targets)
        loss = None if targets is None else -found.mean()
        logits = found if targets is None else None
        if labels is not None and targets is None:
            predicted = found.flatten(0, -2).float()
            loss = F.cross_entropy(predicted, labels.reshape(-1).long(), ignore_index=NO_LABEL)
        kept = cache if use_cache else None
        output = Seq2SeqLMOutput(loss, logits, kept, encoder_last_hidden_state=encoder_outputs[0])
        return self._to_tuple(output, return_dict)
