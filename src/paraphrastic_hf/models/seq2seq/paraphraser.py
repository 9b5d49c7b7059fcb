"""Paraphrase generator (thesis, 4.6): a bidirectional LSTM encoder, and a two-layer LSTM decoder
with bilinear attention.

The default sizes are those of SCPN (6.3.1, released code). The decoder starts from the mean of the
encoder's output, which no paper specifies. In generation, a sliding window of transformers' cache
keeps the states and cells of the last step.
"""

from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.attention import AttentiveLSTM, BilinearAttention, State
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM, initialize_cell, run_directions
from paraphrastic_hf.models.seq2seq.base import (
    Encoding,
    Seq2SeqConfig,
    Seq2SeqModel,
    of_targets,
    reads_template,
    token_mask,
)


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


@dataclass
class SourceEncoding(Encoding):
    """Encoded source and, for a model that reads one, its template."""

    source_ids: Tensor | None = None  # (batch, source), for copying
    template_states: Tensor | None = None  # states of its tokens, (batch, template, hidden)
    is_template: Tensor | None = None  # False for its padding, (batch, template)


class _Encoder(nn.Module):
    """Bidirectional LSTM over a source, and an LSTM over a template, each with a linear map."""

    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__()
        size, self.dropout = config.hidden_size, config.dropout
        self.table = nn.Embedding(config.vocab_size, config.embedding_size)
        self.cells = nn.ModuleList(LSTM(config.embedding_size, size) for _ in range(2))
        self.narrow = Dense(2 * size, size)
        self.reads_template = reads_template(config)
        if self.reads_template:
            width, narrow = config.template_embedding_size, config.template_hidden_size
            self.template_table = nn.Embedding(config.template_vocab_size, width)
            self.template_cell = LSTM(width, narrow)
            self.widen = Dense(narrow, size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> SourceEncoding:
        is_token = token_mask(input_ids, attention_mask)
        rows = dropout(self.table(input_ids[is_token]), self.dropout, self.training)
        both = run_directions(self.cells, rows, is_token.sum(1))
        source = input_ids.masked_fill(~is_token, 0)
        found = SourceEncoding(padded_from_flat(self.narrow(both), is_token), is_token, source)
        if not self.reads_template:
            return found
        if template_ids is None:
            raise ValueError(
                "template_ids are missing. Pass a parse or template in the model's template "
                "vocabulary"
            )
        most = self.template_table.num_embeddings
        if template_ids.numel() and int(template_ids.max()) >= most:
            raise ValueError(
                f"template_ids must be below {most}, the size of the template vocabulary, got "
                f"{int(template_ids.max())}"
            )
        found.is_template = token_mask(template_ids, template_attention_mask)
        rows = self.template_table(template_ids[found.is_template])
        states = run_directions([self.template_cell], rows, found.is_template.sum(1))
        found.template_states = padded_from_flat(self.widen(states), found.is_template)
        return found


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
        self.encoder = _Encoder(config)
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
        self, ids: Tensor, encoded: Any, cache: Any, logits_at: Any, targets: Any
    ) -> Tensor:
        memory, source_ids = encoded.last_hidden_state, encoded.source_ids
        words = dropout(self.encoder.table(ids), self.config.dropout, self.training)
        states = self._write(words, encoded, cache)
        keys = self.attention.keys(memory)
        context, weights = self.attention(states, keys, memory, encoded.is_token)
        if logits_at is not None:
            states, context, words = states[logits_at], context[logits_at], words[logits_at]
            weights = weights[logits_at]
            source_ids = source_ids[torch.nonzero(logits_at)[:, 0]]
        both = torch.cat([states, context], -1)
        narrow = dropout(self.combine(both), self.config.dropout, self.training)
        scores = self.output(narrow)
        if self.copy_gate is None:
            return of_targets(scores, targets)
        gate = self.copy_gate(torch.cat([words, both], -1))
        if targets is None:
            return _mixed(scores, gate, weights, source_ids)
        return _mixed_of_targets(scores, gate[:, 0].float(), weights, source_ids, targets.long())

    def _write(self, words: Tensor, encoded: Any, cache: Any) -> Tensor:
        """Return the decoder's states, (batch, seq, hidden), after those in the cache."""
        template, is_template = encoded.template_states, encoded.is_template
        start = self._start(encoded.last_hidden_state, encoded.is_token, cache)
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


def _mixed_of_targets(
    scores: Tensor, gate: Tensor, weights: Tensor, source_ids: Tensor, targets: Tensor
) -> Tensor:
    """Return `_mixed` for the targets only, (positions,), without the rest of the vocabulary."""
    written = of_targets(scores, targets)
    copied = (weights * (source_ids == targets[:, None])).sum(1).clamp(min=1e-30).log()
    return torch.logaddexp(F.logsigmoid(-gate) + written, F.logsigmoid(gate) + copied.float())


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
