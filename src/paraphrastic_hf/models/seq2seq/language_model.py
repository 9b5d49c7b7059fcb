"""Small causal transformer over sentences, to measure the fluency of paraphrases by perplexity.

No paper uses it. Wieting, Mallinson and Gimpel (2017, section 4) use an n-gram model.
"""

from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, GenerationMixin, PreTrainedConfig
from transformers.modeling_outputs import CausalLMOutputWithPast

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions
from paraphrastic_hf.models.base import NO_LABEL, ParaphrasticModel, takes_cache


@strict
class LanguageModelConfig(PreTrainedConfig):
    """Configuration of a `LanguageModel`.

    Args:
        vocab_size: Number of tokens, including padding, start mark and end mark.
        hidden_size: Dimensions of a token's state. Must be even and a multiple of
            `num_attention_heads`.
        num_hidden_layers: Number of transformer blocks.
        num_attention_heads: Attention heads per block.
        intermediate_size: Hidden units of a block's feed-forward layer.
        dropout: Probability that a value is zeroed in training, 0 to below 1.
        use_cache: Whether generation keeps the states of earlier tokens.
        tie_word_embeddings: Whether the output layer is the embedding table.
        pad_token_id: Id of padding.
        bos_token_id: Id of the start mark.
        eos_token_id: Id of the end mark, or several ids.
    """

    model_type = "paraphrastic-language-model"

    vocab_size: int = 8000
    hidden_size: int = 256
    num_hidden_layers: int = 3
    num_attention_heads: int = 4
    intermediate_size: int = 1024
    dropout: float | int = 0.1
    use_cache: bool = True
    tie_word_embeddings: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def validate_heads(self) -> None:
        if self.hidden_size % self.num_attention_heads or self.hidden_size % 2:
            raise ValueError(
                f"hidden_size must be even and a multiple of num_attention_heads "
                f"({self.num_attention_heads}), got {self.hidden_size}"
            )


class LanguageModel(ParaphrasticModel, GenerationMixin):
    """Causal transformer that predicts the next token of a sentence.

    Example:
        >>> config = LanguageModelConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1)
        >>> model = LanguageModel(config).eval()
        >>> model(torch.tensor([[5, 6, 7]])).logits.shape
        torch.Size([1, 3, 20])
    """

    config_class = LanguageModelConfig
    card_sentence = (
        "A causal transformer over {{ tokens }}, with "
        "{{ counted(num_hidden_layers, 'block') }}, {{ counted(num_attention_heads, 'head') }}, "
        "{{ hidden_size }} dimensions and {{ number(vocab_size) }} entries."
    )
    auto_class: ClassVar[str] = "AutoModelForCausalLM"
    base_model_prefix = "transformer"
    is_resizable = False
    accepts_loss_kwargs = False  # so that transformers' Trainer divides by accumulation steps
    _tied_weights_keys = {"output.weight": "embedding.weight"}

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                config.hidden_size,
                config.num_attention_heads,
                config.intermediate_size,
                dropout=config.dropout,
                norm_first=True,
            )
            for _ in range(config.num_hidden_layers)
        )
        self.norm = nn.LayerNorm(config.hidden_size)
        self.output = Dense(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Use Glorot uniform weights, biases 0, and normal table rows of length about 1."""
        if isinstance(module, nn.Linear) and module is not self.output:
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.hidden_size**-0.5)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def get_output_embeddings(self) -> nn.Linear:
        return self.output

    @takes_cache
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        logits_at: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast | tuple[Tensor, ...]:
        """Return the logits of the next token.

        Args:
            input_ids: (batch, seq) ids. Padding may be on either side with a mask, otherwise only
                on the right.
            attention_mask: (batch, seq), or with a cache (batch, seq so far), 1 for a token.
            labels: (batch, seq), a copy of `input_ids`, with -100 to ignore.
            cache: Cache of earlier generation steps.
            use_cache: Whether to return a cache.
            logits_at: (batch, seq) bool. In training, compute only these logits.
            return_dict: Return a tuple if False.

        Returns:
            `logits`, (batch, seq, vocab), or (positions, vocab) with `logits_at`. With labels also
            `loss`, the mean cross-entropy in nats of the tokens after the first. With a cache also
            `cache`.
        """
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training and labels is None
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        known = 0 if cache is None else cache.get_seq_length()
        states = self._embed(input_ids, attention_mask, known)
        mask = None if attention_mask is None else attention_mask.bool()
        for layer, block in enumerate(self.blocks):
            states = block(states, mask=mask, is_causal=True, cache=cache, layer=layer)
        states = self.norm(states)
        logits = self.output(states if logits_at is None else states[logits_at])
        loss = None
        if labels is not None:
            targets = labels[:, 1:].reshape(-1).long()
            predicted = logits[:, :-1].reshape(-1, logits.shape[-1]).float()
            loss = F.cross_entropy(predicted, targets, ignore_index=NO_LABEL)
        output = CausalLMOutputWithPast(loss, logits, cache if use_cache else None)
        return self._to_tuple(output, return_dict)

    def _embed(self, input_ids: Tensor, attention_mask: Tensor | None, known: int) -> Tensor:
        """Return scaled token vectors plus vectors of positions from `known`, (batch, seq, dim)."""
        size = self.config.hidden_size
        places = torch.arange(known, known + input_ids.shape[1], device=input_ids.device)
        if attention_mask is not None:
            places = (attention_mask.long().cumsum(1) - 1).clamp(min=0)[:, known:]
        states = self.embedding(input_ids) * size**0.5
        states = states + sinusoidal_positions(places, size).to(states)
        return dropout(states, self.config.dropout, self.training)
