"""Syntactically controlled paraphrase network (SCPN) and parse generator (thesis, 6.3).

SCPN reads a sentence and the desired parse of its paraphrase, linearized and without words. The
parse generator is the same network. It reads the parse of the sentence and a template, and writes
the full parse. Output probabilities are g p_copy + (1 - g) p_vocab. The released code mixes log
probabilities instead, which do not form a distribution.
"""

from __future__ import annotations

from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM, run_directions
from paraphrastic_hf.models.base import check_choices, check_positive
from paraphrastic_hf.models.seq2seq.paraphraser import (
    ParaphraserConfig,
    ParaphraserModel,
    SourceEncoder,
    SourceEncoding,
)

WRITES = ("sentence", "parse")
TEMPLATES = ("parse", "template", "none")


@strict
class ScpnConfig(ParaphraserConfig):
    """Configuration of `ScpnModel`. The defaults are those of the released code.

    Args:
        template_vocab_size: Number of template tokens.
        template_embedding_size: Dimensions of a template token's vector.
        template_hidden_size: Dimensions of a state of the template's LSTM.
        use_copy: Whether tokens of the source may be copied. False for the ablation of 6.7.
        writes: Kind of source and output: `sentence` for SCPN, `parse` for a parse generator.
        template: Syntax input that the decoder attends to: a full `parse`, a `template`, or `none`
            (ablation of 6.7).
    """

    model_type = "paraphrastic-scpn"

    template_vocab_size: int = 100
    template_embedding_size: int = 56
    template_hidden_size: int = 128
    use_copy: bool = True
    writes: str = "sentence"
    template: str = "parse"

    def validate_template(self) -> None:
        check_positive(
            self, "template_vocab_size", "template_embedding_size", "template_hidden_size"
        )
        check_choices(self, writes=WRITES, template=TEMPLATES)


class ScpnModel(ParaphraserModel):
    """Model that writes a paraphrase with the syntax of a given parse or template.

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> marks = {"eos_token_id": 19, "decoder_start_token_id": 19}
        >>> model = ScpnModel(ScpnConfig(**sizes, **marks, template_vocab_size=10)).eval()
        >>> ids, template = torch.tensor([[5, 6, 19]]), torch.tensor([[2, 3, 4, 9]])
        >>> logits = model(ids, template_ids=template, labels=ids).logits
        >>> bool(torch.allclose(logits.exp().sum(-1), torch.ones(1, 3)))  # probabilities
        True
    """

    config_class = ScpnConfig
    card_sentence = (
        "{% set section = 'parse generator; thesis, 6.3.2' if writes == 'parse' else "
        "'syntactically controlled paraphrase network; thesis, 6.3' %}"
        "{% set tokens = 'brackets and labels' if writes == 'parse' else tokens %}"
        + ParaphraserModel.card_sentence
    )
    base_model_prefix = "scpn"

    def new_encoder(self) -> SourceEncoder:
        return TemplateEncoder(self.config) if self.reads_template else SourceEncoder(self.config)

    def tables(self) -> list[nn.Embedding]:
        encoder = self.encoder
        if isinstance(encoder, TemplateEncoder):
            return [encoder.table, encoder.template_table]
        return [encoder.table]


class TemplateEncoder(SourceEncoder):
    """Encoder of a source and a template. An LSTM and a linear map encode the template (6.3.1).

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> encoder = TemplateEncoder(ScpnConfig(**sizes, template_vocab_size=10))
        >>> template = torch.tensor([[2, 3, 4, 9]])
        >>> encoder(torch.tensor([[5, 6, 19]]), template_ids=template).template_states.shape
        torch.Size([1, 4, 8])
    """

    def __init__(self, config: ScpnConfig) -> None:
        super().__init__(config)
        size = config.template_hidden_size
        self.template_table = nn.Embedding(
            config.template_vocab_size, config.template_embedding_size
        )
        self.template_cell = LSTM(config.template_embedding_size, size)
        self.widen = Dense(size, config.hidden_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> SourceEncoding:
        """Return the states of the source's and the template's tokens.

        Args:
            input_ids: (batch, source) ids.
            attention_mask: (batch, source), 1 for a token. All ones if None.
            template_ids: (batch, template) ids. None if `read_template` is called separately.
            template_attention_mask: (batch, template), 1 for a token. All ones if None.
            **kwargs: Ignored.
        """
        found = super().forward(input_ids, attention_mask)
        if template_ids is not None:
            found.template_states = self.read_template(template_ids, template_attention_mask)
        return found

    def read_template(self, template_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the states of a template's tokens, (batch, template, hidden)."""
        most = self.template_table.num_embeddings
        if template_ids.numel() and int(template_ids.max()) >= most:
            raise ValueError(
                f"template_ids must be below {most}, the size of the template vocabulary, got "
                f"{int(template_ids.max())}"
            )
        is_token = torch.ones_like(template_ids).bool() if mask is None else mask.bool()
        rows = self.template_table(template_ids[is_token])
        states = run_directions([self.template_cell], rows, is_token.sum(1))
        return padded_from_flat(self.widen(states), is_token)
