"""The paraphrase generator (thesis, 4.6): a bidirectional LSTM reads, an LSTM of two layers with
bilinear attention writes.

The thesis states no sizes; the defaults are those of SCPN (6.3.1, released code), which `scpn.py`
makes of it. The mean of what the encoder gives begins the decoder's states; no paper says what
does. While it writes, the states and cells of the last step are a sliding window of transformers'
own cache, so beams and samples need no code of ours.
"""

from __future__ import annotations

from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig
from transformers.modeling_outputs import Seq2SeqLMOutput

from paraphrastic_hf.layers.attention import AttentiveLSTM, BilinearAttention, State
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import initialize_cell
from paraphrastic_hf.losses.likelihood import log_likelihoods
from paraphrastic_hf.models.seq2seq.base import Seq2SeqModel, scored
from paraphrastic_hf.models.seq2seq.cache import takes_cache
from paraphrastic_hf.models.seq2seq.source_encoder import SourceEncoder


@strict
class ParaphraserConfig(PreTrainedConfig):
    """Configuration of a `ParaphraserModel`.

    Args:
        vocab_size: Number of tokens, those of the source and of what is written.
        embedding_size: Numbers of a token's vector.
        hidden_size: Numbers of a state of the decoder, and of either direction of the encoder.
        decoder_layers: Number of LSTM layers that write.
        dropout: Probability that a number is zeroed in training, 0 to below 1.
        max_position_embeddings: Most tokens of a text that `Translator` gives it; an LSTM itself
            has no bound.
        tie_word_embeddings: Whether the output layer is the table of tokens.
        is_encoder_decoder: True; by this name transformers asks.
        use_cache: Whether generation keeps the states of the last step.
        pad_token_id: Id number of padding.
        bos_token_id: Id number of the mark that starts a text, if there is one.
        eos_token_id: Id number of the mark that ends a text, or several.
        decoder_start_token_id: Id number that the decoder reads first.

    Raises:
        ValueError: A size is below 1.
    """

    model_type = "paraphrastic-paraphraser"
    attribute_map = {"num_hidden_layers": "decoder_layers"}

    vocab_size: int = 32000
    embedding_size: int = 300
    hidden_size: int = 512
    decoder_layers: int = 2
    dropout: float | int = 0.0
    max_position_embeddings: int = 1024
    tie_word_embeddings: bool = False
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def sliding_window(self) -> int:
        """The last step's state and the new one; by this name transformers' cache asks."""
        return 2

    def validate_sizes(self) -> None:
        """Refuse sizes that no network has."""
        for name in ("vocab_size", "embedding_size", "hidden_size", "decoder_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


class ParaphraserModel(Seq2SeqModel):
    """Writes a paraphrase of what it reads.

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
        "a bidirectional LSTM encodes and {{ counted(decoder_layers, 'LSTM layer') }} with "
        "bilinear attention{{ ' and copying' if use_copy is true else '' }} decode"
        "{{ 's' if decoder_layers == 1 else '' }} ({{ section | default('thesis, 4.6') }}), over "
        "{{ tokens }}; {{ hidden_size }} dimensions, {{ '{:,}'.format(vocab_size) }} entries."
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
        self.copy_gate = Dense(config.embedding_size + 2 * size, 1) if self.is_copying else None
        self.post_init()

    @property
    def reads_template(self) -> bool:
        """Whether a template goes in beside the source."""
        return getattr(self.config, "template", "none") != "none"

    @property
    def is_copying(self) -> bool:
        """Whether tokens of the source may be copied."""
        return bool(getattr(self.config, "use_copy", False))

    def new_encoder(self) -> SourceEncoder:
        """What reads the source, and its template where there is one."""
        return SourceEncoder(self.config)

    def _init_weights(self, module: nn.Module) -> None:
        """As torch does: uniform within the root of one over the numbers that are added up."""
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

    @takes_cache
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        labels: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        template_ids: Tensor | None = None,
        template_attention_mask: Tensor | None = None,
        logits_at: Tensor | None = None,
        targets: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Scores of every token as the next one; with copying, logarithms of probabilities.

        Args:
            input_ids: (batch, source) ids; padding may stand on either side.
            attention_mask: (batch, source), 1 for a token; all ones if None.
            decoder_input_ids: (batch, seq) what the paraphrase begins with; from labels if None.
            decoder_attention_mask: Ignored, (batch, seq): padding follows what is written.
            encoder_outputs: What the encoder gave, in place of `input_ids` and `template_ids`.
            labels: (batch, seq) what is to be written; -100 where nothing is.
            cache: The cache of earlier steps of generation.
            use_cache: Whether to return a cache.
            template_ids: (batch, template) ids of a parse or a template, of SCPN.
            template_attention_mask: (batch, template), 1 for a token; all ones if None.
            logits_at: (batch, seq) bool; the places that count, which training asks for.
            targets: (places,) with `logits_at`, the right tokens there: then `loss` is returned
                and no `logits`, without a score of every token being mixed with copies.
            return_dict: A tuple instead, if False.

        Returns:
            `logits`, (batch, seq, vocab), or (places, vocab) with `logits_at`; with labels or
            targets also `loss`, the mean cross-entropy in nats.

        Raises:
            ValueError: Nothing says what the decoder reads, or the template is missing.
        """
        if encoder_outputs is None:
            assert input_ids is not None
            encoder_outputs = self.encoder(
                input_ids, attention_mask, template_ids, template_attention_mask
            )
        memory = encoder_outputs[0]  # (batch, source, hidden)
        if logits_at is not None:  # asked for whole texts, not for one token after another
            use_cache = False
        inputs = self._decoder_inputs(
            memory, attention_mask, decoder_input_ids, labels, cache, use_cache
        )
        is_token = inputs.is_token
        words = dropout(self.encoder.table(inputs.ids), self.config.dropout, self.training)
        states = self._write(
            words, memory, is_token, encoder_outputs, template_attention_mask, inputs.cache
        )
        context, weights = self.attention(states, self.attention.keys(memory), memory, is_token)
        source_ids = getattr(encoder_outputs, "source_ids", None)
        if logits_at is not None:
            rows = torch.nonzero(logits_at)[:, 0]
            states, context, words = states[logits_at], context[logits_at], words[logits_at]
            weights = weights[logits_at]
            source_ids = None if source_ids is None else source_ids[rows]
        both = torch.cat([states, context], -1)
        scores = self._vocabulary(both)
        gate = None if self.copy_gate is None else self.copy_gate(torch.cat([words, both], -1))
        logits, loss = None, None
        if targets is not None:
            loss = self._loss(scores, gate, weights, source_ids, targets.long())
        else:
            logits = scores
            if gate is not None:
                assert source_ids is not None  # of the encoder of this model
                logits = _mixed(scores, gate, weights, source_ids)
        return scored(self, logits, labels, inputs, memory, return_dict, loss)

    def _write(
        self,
        words: Tensor,
        memory: Tensor,
        is_token: Tensor,
        encoding: Any,
        template_mask: Tensor | None,
        cache: Any,
    ) -> Tensor:
        """The decoder's states, (batch, seq, hidden), from its start or on from the cache."""
        template = getattr(encoding, "template_states", None)
        is_template = None
        if self.reads_template:
            if template is None:
                raise ValueError(
                    "this model needs template_ids, a parse or template of its own vocabulary, "
                    "beside input_ids"
                )
            if template_mask is None:
                template_mask = template.new_ones(template.shape[:2])
            is_template = template_mask.bool()
        start = self._start(memory, is_token, cache)
        if cache is None:
            return self.decoder(words, start, template, is_template)[0]  # type: ignore[no-any-return]
        found = []
        for word in words.split(1, 1):  # generation writes one at a time, but for a prompt
            states, start = self.decoder(word, start, template, is_template)
            for layer, (hidden, cell) in enumerate(start):
                cache.update(hidden[:, None, None], cell[:, None, None], layer)
            found.append(states)
        return torch.cat(found, 1)

    def _start(self, memory: Tensor, is_token: Tensor, cache: Any) -> list[State]:
        """State and cell of every layer before the first word, or after the cached ones."""
        layers = range(self.config.decoder_layers)
        if cache is not None and cache.get_seq_length():
            kept = [cache.layers[layer] for layer in layers]
            return [(each.keys[:, 0, -1], each.values[:, 0, -1]) for each in kept]
        count = is_token.sum(1, keepdim=True).clamp(min=1)
        mean = (memory * is_token[..., None]).sum(1) / count
        return [(mean, torch.zeros_like(mean)) for _ in layers]

    def _vocabulary(self, both: Tensor) -> Tensor:
        """Scores of the vocabulary from [d_t; a_t], (*places, vocab), by two linear maps."""
        narrow = dropout(self.combine(both), self.config.dropout, self.training)
        scores: Tensor = self.output(narrow)
        return scores

    @staticmethod
    def _loss(
        scores: Tensor, gate: Tensor | None, weights: Tensor, source_ids: Any, targets: Tensor
    ) -> Tensor:
        """Minus ln of the probability of the targets, scalar, mean over the places."""
        written = log_likelihoods(scores.float(), targets)
        if gate is None:
            return -written.mean()
        copied = (weights * (source_ids == targets[:, None])).sum(1).clamp(min=1e-30).log()
        gate = gate[:, 0].float()
        mixed = torch.logaddexp(F.logsigmoid(-gate) + written, F.logsigmoid(gate) + copied.float())
        return -mixed.mean()


def _mixed(scores: Tensor, gate: Tensor, weights: Tensor, source_ids: Tensor) -> Tensor:
    """ln of g p_copy + (1 - g) p_vocab, (*places, vocab); only tokens of the source change.

    Args:
        scores: Of the vocabulary, (*places, vocab).
        gate: Before its sigmoid g, (*places, 1).
        weights: Attention to the source, (*places, source).
        source_ids: Its tokens, (batch, source), or (places, source).
    """
    base = scores.float().log_softmax(-1) + F.logsigmoid(-gate.float())
    ids = source_ids if weights.dim() == 2 else source_ids[:, None].expand(weights.shape)
    same = ids[..., :, None] == ids[..., None, :]  # (*places, source, source)
    of_id = (weights[..., None, :] * same).sum(-1).clamp(min=1e-30).log()
    earlier = torch.tril(same, -1).any(-1)  # a token that stood before is counted there
    here = base.gather(-1, ids)
    raised = torch.logaddexp(here, F.logsigmoid(gate.float()) + of_id.float()) - here
    return base.scatter_add(-1, ids, raised.masked_fill(earlier, 0.0))
