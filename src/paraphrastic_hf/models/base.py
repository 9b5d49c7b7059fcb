"""The contract every encoder keeps: padded ids and a mask in, one vector a text out.

A family is one file beside this one: its config, then its model. A model implements `token_states`,
and `pool` where the mean is not what it does; one that can go from ids to the pooled vector without
the token vectors overrides `embed` too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from paraphrastic_hf.layers.pooling import masked_mean
from paraphrastic_hf.text.remote_code import write_remote_code


@dataclass
class SentenceEncoderOutput(ModelOutput):
    """What every encoder returns.

    Attributes:
        last_hidden_state: (batch, seq, dim) token vectors; None if `pooled_only` was asked for.
        sentence_embedding: (batch, dim), any scale; the zero vector for a text without tokens.
        pooler_output: The same tensor, under the name transformers uses.
    """

    last_hidden_state: Tensor | None = None
    sentence_embedding: Tensor | None = None
    pooler_output: Tensor | None = None


class SentenceEncoderModel(PreTrainedModel):
    """Base of every encoder of this package."""

    base_model_prefix = "encoder"
    main_input_name = "input_ids"

    def token_states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token vectors, (batch, seq, dim), from ids and mask, (batch, seq)."""
        raise TypeError(f"{type(self).__name__} must define token_states")

    def pool(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """Sentence vectors, (batch, dim), from token vectors; the mean unless a model says
        otherwise."""
        return masked_mean(states, attention_mask)

    def embed(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Sentence vectors, (batch, dim)."""
        return self.pool(self.token_states(input_ids, attention_mask), attention_mask)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        pooled_only: bool = False,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> SentenceEncoderOutput | tuple[Tensor, ...]:
        """Encode a padded batch.

        Args:
            input_ids: (batch, seq) ids; whatever stands at masked positions is ignored.
            attention_mask: (batch, seq), 1 for a token; all ones if absent.
            pooled_only: Leave `last_hidden_state` out, which some models can skip computing.
            return_dict: A tuple instead, if False.

        Raises:
            ValueError: If the two shapes differ.
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if input_ids.shape != attention_mask.shape:
            raise ValueError(
                f"input_ids and attention_mask must have one shape, got {tuple(input_ids.shape)} "
                f"and {tuple(attention_mask.shape)}"
            )
        input_ids = input_ids.long().masked_fill(attention_mask == 0, 0)
        if pooled_only:
            states, embedding = None, self.embed(input_ids, attention_mask)
        else:
            states = self.token_states(input_ids, attention_mask)
            embedding = self.pool(states, attention_mask)
        output = SentenceEncoderOutput(states, embedding, embedding)
        return output if return_dict is not False else output.to_tuple()

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """As in transformers, with the Python files that `trust_remote_code=True` loads."""
        model_class = write_remote_code(type(self), save_directory)
        config_class = write_remote_code(type(self.config), save_directory)
        self.config.auto_map = {"AutoConfig": config_class, "AutoModel": model_class}
        super().save_pretrained(save_directory, **kwargs)
