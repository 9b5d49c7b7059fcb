"""Encoder-decoders of transformers' own classes, in place of those of the thesis (6.3 and 7.3).

A class of ours derives from `TrainedStock` and the stock one. Its numbers have the stock names and
places, so what is saved is the stock class, which Auto classes load without this package.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    GenerationConfig,
    PreTrainedConfig,
)
from transformers.masking_utils import sdpa_mask

from paraphrastic_hf.layers.attention import attend
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense

ATTENTION = "paraphrastic"  # by which transformers knows the attention of this package


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
    """`attend` as transformers calls it."""
    is_causal = module.is_causal and attention_mask is None and query.shape[2] > 1
    gathered = attend(query, key, value, mask=attention_mask, is_causal=is_causal, scale=scaling)
    return gathered.transpose(1, 2), None


AttentionInterface.register(ATTENTION, _attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


class TrainedStock:
    """What training asks of a stock encoder-decoder with one table, in `model.shared`; first base.

    Attributes:
        stock_class: The class of transformers that is saved.
        generation_config: How it writes.
    """

    stock_class: ClassVar[Any]
    generation_config: GenerationConfig | None

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        if not config.attention_dropout:  # which `attend` does not have
            self.set_attn_implementation(ATTENTION)  # type: ignore[attr-defined]
        for module in self.modules():  # type: ignore[attr-defined]
            if type(module) is nn.Linear and module is not self.lm_head:  # type: ignore[attr-defined]
                module.__class__ = FastLinear

    def tables(self) -> list[nn.Embedding]:
        """The table of tokens."""
        return [self.model.shared]  # type: ignore[attr-defined]

    def sparse_tables(self) -> list[nn.Embedding]:
        """None: the output layer, which is the table, has a gradient for every row."""
        return []

    def rows_used(self, inputs: Mapping[str, Any]) -> Iterator[tuple[nn.Embedding, Tensor]]:
        """None, since no table has gradients of some rows alone."""
        return iter(())

    def stock(self) -> Any:
        """The same numbers in transformers' own class, for saving."""
        config = copy.deepcopy(self.config)  # type: ignore[attr-defined]
        config._attn_implementation = None  # transformers' own choice
        model = self.stock_class(config)
        model.load_state_dict(self.state_dict())  # type: ignore[attr-defined]
        model.generation_config = self.generation_config
        return model.eval()


class FastLinear(Dense):
    """A dense layer with dropout of what it gives, by the faster of torch's two libraries."""

    dropout = 0.0

    def forward(self, input: Tensor) -> Tensor:
        """Return x W' + b, (*places, output).

        Args:
            input: x, (*places, input).
        """
        return dropout(super().forward(input), self.dropout, self.training)


def generation_settings(config: PreTrainedConfig) -> GenerationConfig:
    """How a stock encoder-decoder writes: never padding.

    Args:
        config: Its configuration.
    """
    return GenerationConfig(
        pad_token_id=config.pad_token_id,
        decoder_start_token_id=config.decoder_start_token_id,
        eos_token_id=config.eos_token_id,
        bad_words_ids=[[config.pad_token_id]],
    )
