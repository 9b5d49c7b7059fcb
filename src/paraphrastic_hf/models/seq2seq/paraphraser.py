"""Paraphrase generator (thesis, 4.6): a bidirectional LSTM encoder, and a two-layer LSTM decoder
with bilinear attention.

The default sizes are those of SCPN (6.3.1, released code). The decoder starts from the mean of the
encoder's output, which no paper specifies. In generation, a sliding window of transformers' cache
keeps the states and cells of the last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from paraphrastic_hf.layers.attention import AttentiveLSTM, BilinearAttention, State
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM, initialize_cell, run_directions
from paraphrastic_hf.losses.likelihood import log_likelihoods
from paraphrastic_hf.models.base import check_positive
from paraphrastic_hf.models.seq2seq.base import Seq2SeqConfig, Seq2SeqModel


@strict
class ParaphraserConfig(Seq2SeqConfig):
    """Configuration of `ParaphraserModel`, with the settings of `Seq2SeqConfig`.

    An LSTM has no maximum length. Only `Translator` uses `max_position_embeddings`.

    Args:
        vocab_size: Number of tokens of source and output.
        embedding_size: Dimensions of a token's vector.
        hidden_size: Dimensions of a decoder state, and of a state of each encoder direction.
        decoder_layers: Number of LSTM layers of the decoder.
        dropout: Probability that a value is zeroed in training, 0 to below 1.
        tie_word_embeddings: Whether the output layer is the embedding table.
    """

    model_type = "paraphrastic-paraphraser"

    vocab_size: int = 32000
    embedding_size: int = 300
    hidden_size: int = 512
    decoder_layers: int = 2
    dropout: float | int = 0.0
    tie_word_embeddings: bool = False

    @property
    def sliding_window(self) -> int:
        """Size of the window in transformers' cache: the last and the new state."""
        return 2

    def validate_sizes(self) -> None:
        check_positive(self, "vocab_size", "embedding_size", "hidden_size", "decoder_layers")


@dataclass
class SourceEncoding(ModelOutput):
    """Encoded source and template. Generation repeats every field for each beam.

    Attributes:
        last_hidden_state: States of the source's tokens, (batch, source, hidden).
        source_ids: Ids of the source, (batch, source), for copying.
        template_states: States of the template's tokens, (batch, template, hidden), or None.
    """

    last_hidden_state: Tensor | None = None
    source_ids: Tensor | None = None
    template_states: Tensor | None = None


class SourceEncoder(nn.Module):
    """Bidirectional LSTM over a source, then a linear map (thesis, 6.3.1).

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> encoder = SourceEncoder(ParaphraserConfig(**sizes))
        >>> encoder(torch.tensor([[5, 6, 19]])).last_hidden_state.shape
        torch.Size([1, 3, 8])
    """

    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__()
        size, self.dropout = config.hidden_size, config.dropout
        self.table = nn.Embedding(config.vocab_size, config.embedding_size)
        self.cells = nn.ModuleList(LSTM(config.embedding_size, size) for _ in range(2))
        self.narrow = Dense(2 * size, size)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> SourceEncoding:
        """Return the states of the source's tokens, and the source's ids.

        Args:
            input_ids: (batch, source) ids.
            attention_mask: (batch, source), 1 for a token. All ones if None.
            **kwargs: Ignored. `TemplateEncoder` reads templates.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        is_token = mask.bool()
        ids, lengths = input_ids[is_token], is_token.sum(1)
        rows = dropout(self.table(ids), self.dropout, self.training)
        both = run_directions(self.cells, rows, lengths)
        source = input_ids.masked_fill(~is_token, 0)
        return SourceEncoding(padded_from_flat(self.narrow(both), is_token), source, None)


class ParaphraserModel(Seq2SeqModel):
    """Model that writes a paraphrase of its input.

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> config = ParaphraserConfig(**sizes, eos_token_id=19, decoder_start_token_id=19)
        >>> model = ParaphraserModel(config).eval()
        >>> ids = torch.tensor([[5, 6, 19]])
        >>> model(ids, labels=ids).logits.shape
        torch.Size([1, 3, 20])
    """

    config_class = ParaphraserConfig
    card_sentence = (
        "a bidirectional LSTM encoder and a decoder of "
        "{{ counted(decoder_layers, 'LSTM layer') }} with bilinear attention"
        "{{ ' and copying' if use_copy is true else '' }} over {{ tokens }} "
        "({{ section | default('thesis, 4.6') }}), with {{ hidden_size }} dimensions and "
        "{{ number(vocab_size) }} entries."
    )
    base_model_prefix = "paraphraser"
    _tied_weights_keys = {"output.weight": "encoder.table.weight"}

    def __init__(self, config: ParaphraserConfig) -> None:
        super().__init__(config)
        size, tied = config.hidden_size, config.tie_word_embeddings
        self.encoder: SourceEncoder = self.new_encoder()
        self.decoder = AttentiveLSTM(
            config.embedding_size,
            size,
            layers=config.decoder_layers,
            template_size=size if self.reads_template else 0,
        )
        self.attention = BilinearAttention(size, size)
        narrow = config.embedding_size if tied else size
        self.combine = Dense(2 * size, narrow)
        self.output = Dense(narrow, config.vocab_size)
        is_copying = getattr(config, "use_copy", False)
        self.copy_gate = Dense(config.embedding_size + 2 * size, 1) if is_copying else None
        self.post_init()

    @property
    def reads_template(self) -> bool:
        """Whether the decoder attends to a template."""
        return getattr(self.config, "template", "none") != "none"

    def new_encoder(self) -> SourceEncoder:
        """Return a new encoder of the source and, if the model reads one, of the template."""
        return SourceEncoder(self.config)

    def _init_weights(self, module: nn.Module) -> None:
        """Initialize dense layers uniformly within 1 / sqrt(number of inputs), as in torch."""
        if isinstance(module, nn.Linear):
            bound = module.in_features**-0.5
            if module.weight is not self.encoder.table.weight:
                nn.init.uniform_(module.weight, -bound, bound)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LSTM):
            initialize_cell(module, (3 * module.hidden_size) ** -0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1 if module is self.encoder.table else 1.0)

    def predict(
        self,
        ids: Tensor,
        encoded: Any,
        is_token: Tensor,
        cache: Any,
        *,
        logits_at: Tensor | None,
        targets: Tensor | None,
        template_mask: Tensor | None,
    ) -> tuple[Tensor | None, Tensor | None]:
        memory = encoded[0]  # (batch, source, hidden)
        words = dropout(self.encoder.table(ids), self.config.dropout, self.training)
        states = self._write(words, encoded, is_token, template_mask, cache)
        context, weights = self.attention(states, self.attention.keys(memory), memory, is_token)
        source_ids = getattr(encoded, "source_ids", None)
        if logits_at is not None:
            rows = torch.nonzero(logits_at)[:, 0]
            states, context, words = states[logits_at], context[logits_at], words[logits_at]
            weights = weights[logits_at]
            source_ids = None if source_ids is None else source_ids[rows]
        both = torch.cat([states, context], -1)
        narrow = dropout(self.combine(both), self.config.dropout, self.training)
        scores = self.output(narrow)
        gate = None if self.copy_gate is None else self.copy_gate(torch.cat([words, both], -1))
        if targets is not None:
            return None, self._loss(scores, gate, weights, source_ids, targets.long())
        if gate is None:
            return scores, None
        assert source_ids is not None
        return _mixed(scores, gate, weights, source_ids), None

    def _write(
        self,
        words: Tensor,
        encoded: Any,
        is_token: Tensor,
        template_mask: Tensor | None,
        cache: Any,
    ) -> Tensor:
        """Return the decoder's states, (batch, seq, hidden), after those in the cache."""
        template = getattr(encoded, "template_states", None)
        is_template = None
        if self.reads_template:
            if template is None:
                raise ValueError(
                    "template_ids are missing. Pass a parse or template in the model's "
                    "template vocabulary"
                )
            if template_mask is None:
                template_mask = template.new_ones(template.shape[:2])
            is_template = template_mask.bool()
        start = self._start(encoded[0], is_token, cache)
        if cache is None:
            return self.decoder(words, start, template, is_template)[0]  # type: ignore[no-any-return]
        found = []
        for word in words.split(1, 1):  # several words for a prompt
            states, start = self.decoder(word, start, template, is_template)
            for layer, (hidden, cell) in enumerate(start):
                cache.update(hidden[:, None, None], cell[:, None, None], layer)
            found.append(states)
        return torch.cat(found, 1)

    def _start(self, memory: Tensor, is_token: Tensor, cache: Any) -> list[State]:
        """Return state and cell of every layer before the first word of this call."""
        layers = range(self.config.decoder_layers)
        if cache is not None and cache.get_seq_length():
            kept = [cache.layers[layer] for layer in layers]
            return [(each.keys[:, 0, -1], each.values[:, 0, -1]) for each in kept]
        count = is_token.sum(1, keepdim=True).clamp(min=1)
        mean = (memory * is_token[..., None]).sum(1) / count
        return [(mean, torch.zeros_like(mean)) for _ in layers]

    @staticmethod
    def _loss(
        scores: Tensor, gate: Tensor | None, weights: Tensor, source_ids: Any, targets: Tensor
    ) -> Tensor:
        """Return the mean -ln p of the targets, scalar."""
        written = log_likelihoods(scores.float(), targets)
        if gate is None:
            return -written.mean()
        copied = (weights * (source_ids == targets[:, None])).sum(1).clamp(min=1e-30).log()
        gate = gate[:, 0].float()
        mixed = torch.logaddexp(F.logsigmoid(-gate) + written, F.logsigmoid(gate) + copied.float())
        return -mixed.mean()


def _mixed(scores: Tensor, gate: Tensor, weights: Tensor, source_ids: Tensor) -> Tensor:
    """Return ln(g p_copy + (1 - g) p_vocab), (*places, vocab), for a copy probability g.

    `scores` are vocabulary logits, (*places, vocab), `gate` is the logit of g, (*places, 1), and
    `weights` are the attention to `source_ids`, (*places, source).
    """
    base = scores.float().log_softmax(-1) + F.logsigmoid(-gate.float())
    ids = source_ids if weights.dim() == 2 else source_ids[:, None].expand(weights.shape)
    same = ids[..., :, None] == ids[..., None, :]  # (*places, source, source)
    of_id = (weights[..., None, :] * same).sum(-1).clamp(min=1e-30).log()
    earlier = torch.tril(same, -1).any(-1)  # repeated tokens are counted at their first position
    here = base.gather(-1, ids)
    raised = torch.logaddexp(here, F.logsigmoid(gate.float()) + of_id.float()) - here
    return base.scatter_add(-1, ids, raised.masked_fill(earlier, 0.0))
