"""Bart, transformers' own encoder-decoder (Lewis et al., 2020), as training runs it; the way of
AESOP (Sun et al., 2021) to paraphrases of a given syntax, beside SCPN (thesis, 6.3).

What is saved is a stock `BartForConditionalGeneration`, which Auto classes load without this
package.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.models.seq2seq.stock import TrainedStock


class TrainedBart(TrainedStock, BartForConditionalGeneration):  # type: ignore[misc]
    """A Bart with the questions that training asks of every model of this package.

    Example:
        >>> heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        >>> model = TrainedBart(bart_config(20, 19, d_model=8, **heads))
        >>> type(model.stock()).__name__
        'BartForConditionalGeneration'
    """

    stock_class: ClassVar[type] = BartForConditionalGeneration

    def forward(self, *args: Any, logits_at: Tensor | None = None, **kwargs: Any) -> Any:
        """As of `BartForConditionalGeneration`; or the scores of some places alone.

        Args:
            *args: As there.
            logits_at: (batch, seq) bool, the places; all if None.
            **kwargs: As there.

        Returns:
            `Seq2SeqLMOutput`; with `logits_at` its `logits` are (places, vocab).
        """
        if logits_at is None:
            return super().forward(*args, **kwargs)
        states = self.model(*args, **kwargs, use_cache=False).last_hidden_state[logits_at]
        logits = linear(states, self.lm_head.weight, self.final_logits_bias[0])
        return Seq2SeqLMOutput(logits=logits)


def bart_config(tokens: int, end: int, **sizes: Any) -> BartConfig:
    """The configuration of a Bart for a tokenizer of this package.

    Args:
        tokens: Entries of the tokenizer, of which 0 is padding.
        end: Id of the mark that ends a sentence, with which the decoder begins.
        **sizes: As of `BartConfig`.

    Example:
        >>> config = bart_config(20, 19)
        >>> config.vocab_size, config.pad_token_id, config.decoder_start_token_id
        (20, 0, 19)
    """
    return BartConfig(
        vocab_size=tokens,
        pad_token_id=0,
        bos_token_id=None,
        decoder_start_token_id=end,
        eos_token_id=end,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        activation_function="gelu",
        scale_embedding=True,
        **sizes,
    )
