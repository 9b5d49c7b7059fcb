"""Marian, transformers' own encoder-decoder (Junczys-Dowmunt et al., 2018), as training runs it.

What is saved is a stock `MarianMTModel`, which Auto classes load without this package, and which
CTranslate2 converts: its last row is padding, which no text has and with whose zeros every
translation begins. Training here leaves that row out of the scores, and padded places too.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor
from transformers import MarianConfig, MarianMTModel
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.models.seq2seq.stock import TrainedStock


class TrainedMarian(TrainedStock, MarianMTModel):  # type: ignore[misc]
    """A Marian with the two questions that training asks of every model of this package.

    Its matrix products and its dropout are the faster ones of this package; its numbers have the
    names and places of the stock class.

    Example:
        >>> heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        >>> model = TrainedMarian(marian_config(20, 19, d_model=8, **heads))
        >>> type(model.stock()).__name__
        'MarianMTModel'
    """

    stock_class: ClassVar[type] = MarianMTModel

    def __init__(self, config: MarianConfig) -> None:
        super().__init__(config)
        for layer in (*self.model.encoder.layers, *self.model.decoder.layers):
            parts = (layer.self_attn, getattr(layer, "encoder_attn", None))
            for dense in (layer.fc2, *(part.out_proj for part in parts if part is not None)):
                dense.dropout = config.dropout
            layer.dropout = 0.0  # torch's own, of what these give

    def forward(self, *args: Any, logits_at: Tensor | None = None, **kwargs: Any) -> Any:
        """As of `MarianMTModel`; or the scores of some places alone.

        Args:
            *args: As of `MarianMTModel`.
            logits_at: (batch, seq) bool, the places; all if None.
            **kwargs: As of `MarianMTModel`.

        Returns:
            `Seq2SeqLMOutput`; with `logits_at` its `logits` are (places, vocab - 1), without
            padding's.
        """
        if logits_at is None:
            return super().forward(*args, **kwargs)
        states = self.model(*args, **kwargs, use_cache=False).last_hidden_state[logits_at]
        weight, bias = self.lm_head.weight[:-1], self.final_logits_bias[0, :-1]
        return Seq2SeqLMOutput(logits=linear(states, weight, bias))


def marian_config(tokens: int, end: int, **sizes: Any) -> MarianConfig:
    """The configuration of a Marian for a tokenizer of this package.

    Args:
        tokens: Entries of the tokenizer, to which the model adds padding as its last.
        end: Id of the mark that ends a sentence.
        **sizes: As of `MarianConfig`.

    Example:
        >>> config = marian_config(20, 19)
        >>> config.vocab_size, config.pad_token_id, config.decoder_start_token_id
        (21, 20, 20)
    """
    return MarianConfig(
        vocab_size=tokens + 1,
        pad_token_id=tokens,
        decoder_start_token_id=tokens,
        eos_token_id=end,
        forced_eos_token_id=None,
        activation_function="relu",
        scale_embedding=True,
        **sizes,
    )
