"""Syntactically controlled paraphrase networks (thesis, 6.3), and the parse generator, which is the
same network with other inputs.

SCPN reads a sentence and the linearised parse of the paraphrase, without its words; the parse
generator reads the parse of the sentence and a template, and writes the whole parse. What is
written is a mixture of two probabilities, g p_copy + (1 - g) p_vocab; the released code mixes their
logarithms, which is no distribution. With `template` none nothing steers it, without `use_copy`
every token comes from the vocabulary: the two ablations of 6.7.
"""

from __future__ import annotations

from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig, ParaphraserModel
from paraphrastic_hf.models.seq2seq.source_encoder import SourceEncoder, SourceEncoding, read_packed

WRITES = ("sentence", "parse")
TEMPLATES = ("parse", "template", "none")


@strict
class ScpnConfig(ParaphraserConfig):
    """Configuration of a `ScpnModel`; the defaults are those of the released code.

    Args:
        template_vocab_size: Number of tokens that a template is made of.
        template_embedding_size: Numbers of the vector of such a token.
        template_hidden_size: Numbers of a state of the LSTM that reads the template.
        use_copy: Whether tokens of the source may be copied.
        writes: What it writes and, for a parse generator, reads: `sentence` or `parse`.
        template: What steers the decoder by z_t, which is gathered of it: a whole `parse`, a
            `template`, or `none`.

    Raises:
        ValueError: A size is below 1, or `writes` or `template` is none of these.
    """

    model_type = "paraphrastic-scpn"

    template_vocab_size: int = 100
    template_embedding_size: int = 56
    template_hidden_size: int = 128
    use_copy: bool = True
    writes: str = "sentence"
    template: str = "parse"

    def validate_template(self) -> None:
        """Refuse what has no meaning."""
        for name in ("template_vocab_size", "template_embedding_size", "template_hidden_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name, known in (("writes", WRITES), ("template", TEMPLATES)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )


class ScpnModel(ParaphraserModel):
    """Writes a paraphrase that has the syntax of a given parse or template.

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
        """The table of tokens, and that of the template's."""
        encoder = self.encoder
        if isinstance(encoder, TemplateEncoder):
            return [encoder.table, encoder.template_table]
        return [encoder.table]


class TemplateEncoder(SourceEncoder):
    """Reads a source, and a template by an LSTM and a linear map of its states (thesis, 6.3.1).

    Args:
        config: Of the model.

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
        """States of the source's and of the template's tokens.

        Args:
            input_ids: (batch, source) ids.
            attention_mask: (batch, source), 1 for a token; all ones if None.
            template_ids: (batch, template) ids; None where templates are read apart.
            template_attention_mask: (batch, template), 1 for a token; all ones if None.
            **kwargs: Ignored.
        """
        found = super().forward(input_ids, attention_mask)
        if template_ids is not None:
            found.template_states = self.read_template(template_ids, template_attention_mask)
        return found

    def read_template(self, template_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """States of a template's tokens, (batch, template, hidden).

        Args:
            template_ids: (batch, template) ids.
            mask: (batch, template), 1 for a token; all ones if None.

        Raises:
            ValueError: An id is of another vocabulary.
        """
        most = self.template_table.num_embeddings
        if template_ids.numel() and int(template_ids.max()) >= most:
            raise ValueError(
                f"a template has the id {int(template_ids.max())}, and this model has {most} "
                "entries for templates: it is of another vocabulary"
            )
        is_token = torch.ones_like(template_ids).bool() if mask is None else mask.bool()
        rows = self.template_table(template_ids[is_token])
        states = read_packed(self.template_cell, rows, is_token.sum(1), backward=False)
        return padded_from_flat(self.widen(states), is_token)
