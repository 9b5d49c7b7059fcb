"""transformers' BART (Lewis et al., 2020) for syntactically controlled paraphrases, as in AESOP
(Sun et al., 2021). Saved models are stock `BartForConditionalGeneration`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import BartConfig, BartForConditionalGeneration

from paraphrastic_hf.models.seq2seq.stock import TrainedStock


class TrainedBart(TrainedStock, BartForConditionalGeneration):  # type: ignore[misc]
    """BART with the methods that training needs.

    Example:
        >>> heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        >>> model = TrainedBart(bart_config(20, 19, d_model=8, **heads))
        >>> type(model.stock()).__name__
        'BartForConditionalGeneration'
    """

    stock_class: ClassVar[type] = BartForConditionalGeneration


def bart_config(tokens: int, end: int, **sizes: Any) -> BartConfig:
    """Return the configuration of a BART for a tokenizer of this package.

    Args:
        tokens: Size of the tokenizer. Entry 0 is padding.
        end: Id of the end mark, which is also the decoder's first input.
        **sizes: As in `BartConfig`.

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
