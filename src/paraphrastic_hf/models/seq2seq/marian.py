"""transformers' Marian (Junczys-Dowmunt et al., 2018) for training.

Saved models are stock `MarianMTModel`, which CTranslate2 can convert. The last row of the table is
padding, a zero vector, and every translation starts from it. Training computes no logit for it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import MarianConfig, MarianMTModel

from paraphrastic_hf.models.seq2seq.stock import TrainedStock


class TrainedMarian(TrainedStock, MarianMTModel):  # type: ignore[misc]
    """Marian with the methods that training needs, and faster matrix products and dropout.

    Example:
        >>> heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        >>> model = TrainedMarian(marian_config(20, 19, d_model=8, **heads))
        >>> type(model.stock()).__name__
        'MarianMTModel'
    """

    stock_class: ClassVar[type] = MarianMTModel
    scores_padding: ClassVar[bool] = False

    def __init__(self, config: MarianConfig) -> None:
        super().__init__(config)
        for layer in (*self.model.encoder.layers, *self.model.decoder.layers):
            parts = (layer.self_attn, getattr(layer, "encoder_attn", None))
            for dense in (layer.fc2, *(part.out_proj for part in parts if part is not None)):
                dense.dropout = config.dropout
            layer.dropout = 0.0  # `FastLinear` applies the dropout


def marian_config(tokens: int, end: int, **sizes: Any) -> MarianConfig:
    """Return the configuration of a Marian for a tokenizer of this package.

    Args:
        tokens: Size of the tokenizer. The model appends padding.
        end: Id of the end mark.
        **sizes: As in `MarianConfig`.

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
