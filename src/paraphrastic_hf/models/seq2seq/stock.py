"""transformers' encoder-decoders, as alternatives to those of the thesis (6.3 and 7.3).

Saved models have transformers' class and parameter names, so they load without this package.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PreTrainedConfig,
)
from transformers.masking_utils import sdpa_mask
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.layers.attention import attend
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense, linear

ATTENTION = "paraphrastic"  # our attention's name in transformers' registry


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    is_causal = module.is_causal and attention_mask is None and query.shape[2] > 1
    gathered = attend(query, key, value, mask=attention_mask, is_causal=is_causal, scale=scaling)
    return gathered.transpose(1, 2), None


AttentionInterface.register(ATTENTION, _attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


class TrainedStock:
    """Methods that training needs, for a stock encoder-decoder. Must be the first base class."""

    stock_class: ClassVar[Any]  # transformers' class that is saved
    scores_padding: ClassVar[bool] = True  # whether training scores Marian's padding, the last row
    generation_config: GenerationConfig | None

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        if not config.attention_dropout:  # `attend` has no attention dropout
            self.set_attn_implementation(ATTENTION)  # type: ignore[attr-defined]
        for module in self.modules():  # type: ignore[attr-defined]
            if type(module) is nn.Linear and module is not self.lm_head:  # type: ignore[attr-defined]
                module.__class__ = FastLinear

    def forward(self, *args: Any, logits_at: Tensor | None = None, **kwargs: Any) -> Any:
        """Run the stock model.

        With `logits_at`, a mask (batch, seq), compute only those logits, (positions, vocab). For
        Marian, they lack the last vocabulary entry, which is padding.
        """
        if logits_at is None:
            return super().forward(*args, **kwargs)  # type: ignore[misc]
        states = self.model(*args, **kwargs, use_cache=False).last_hidden_state[logits_at]  # type: ignore[attr-defined]
        weight, bias = self.lm_head.weight, self.final_logits_bias[0]  # type: ignore[attr-defined]
        if not self.scores_padding:
            weight, bias = weight[:-1], bias[:-1]
        return Seq2SeqLMOutput(logits=linear(states, weight, bias))

    def tables(self) -> list[nn.Embedding]:
        return [self.model.shared]  # type: ignore[attr-defined]

    def sparse_tables(self) -> list[nn.Embedding]:
        """Return no tables. The output layer is the table, so every row has a gradient."""
        return []

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        return iter(())

    def stock(self) -> Any:
        """Return a copy as transformers' class, for saving."""
        config = copy.deepcopy(self.config)  # type: ignore[attr-defined]
        config._attn_implementation = None  # transformers' default
        model = self.stock_class(config)
        model.load_state_dict(self.state_dict())  # type: ignore[attr-defined]
        model.generation_config = self.generation_config
        return model.eval()


class FastLinear(Dense):
    """`Dense` with dropout on its output."""

    dropout = 0.0

    def forward(self, input: Tensor) -> Tensor:
        return dropout(super().forward(input), self.dropout, self.training)


def generation_settings(config: PreTrainedConfig) -> GenerationConfig:
    """Return generation settings for a stock encoder-decoder. They forbid padding in the output."""
    return GenerationConfig(
        pad_token_id=config.pad_token_id,
        decoder_start_token_id=config.decoder_start_token_id,
        eos_token_id=config.eos_token_id,
        bad_words_ids=[[config.pad_token_id]],
    )


class TrainedMarian(TrainedStock, MarianMTModel):  # type: ignore[misc]
    """Marian (Junczys-Dowmunt et al., 2018), with faster matrix products and dropout.

    Saved models are stock `MarianMTModel`, which CTranslate2 can convert. The last row of the table
    is padding, a zero vector, and every translation starts from it. Training computes no logit for
    it.
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

    The model appends padding to the tokenizer's entries. `end` is the id of the end mark.
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


class TrainedBart(TrainedStock, BartForConditionalGeneration):  # type: ignore[misc]
    """BART (Lewis et al., 2020), for paraphrases as in AESOP (Sun et al., 2021)."""

    stock_class: ClassVar[type] = BartForConditionalGeneration


def bart_config(tokens: int, end: int, **sizes: Any) -> BartConfig:
    """Return the configuration of a BART, whose decoder starts from the end mark `end`."""
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
