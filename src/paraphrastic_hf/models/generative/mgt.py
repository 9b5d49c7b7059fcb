"""Multilingual generative transformer (MGT) and its ablations (thesis, 5.10 to 5.13).

One encoder infers the semantic variable and the language variable of a sentence in any language.
One decoder writes every language, starting from a token for the language. The models of Table 56
differ in the sentences that they write and in their latent variables:

| row | reconstructs | language variables | variational |
|---|---|---|---|
| Multiling. Trans. | none | no | no |
| Var. Multiling. Trans. | none | no | yes |
| MGT without prior | all | yes | no |
| MGT | all | yes | yes |
"""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn

from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.models.generative.latent import LatentModel, language_of
from paraphrastic_hf.models.generative.latent_parts import (
    SEMANTIC,
    AverageEncoder,
    Decoder,
    Inference,
    LatentConfig,
    Scorer,
    TransformerDecoder,
    TransformerEncoder,
    map_to_mean,
    refuse_language,
)


@strict
class MGTConfig(LatentConfig):
    """Configuration of `MGTModel`, with the settings of `LatentConfig` for two languages or more.

    Args:
        num_attention_heads: Attention heads per block, 16 in the thesis.
        intermediate_size: Hidden units of a block's feed-forward layer, 2,048 in the thesis.
        latent_at: Where the variables enter the decoder, `logit` in the thesis.
        reconstructs: Whether the model also reconstructs each language.
        has_translation_scorer: Whether translation has a separate output layer. If False,
            translation and reconstruction share one, and translation sets the language variable to
            zeros.

    Example:
        >>> MGTConfig(vocab_size=100, hidden_size=32, languages=["en", "fr", "de"]).latent_at
        ['logit']
    """

    model_type = "paraphrastic-mgt"

    num_attention_heads: int = 16
    intermediate_size: int = 2048
    latent_at: list[str] = field(default_factory=lambda: ["logit"])
    reconstructs: bool = True
    has_translation_scorer: bool = False

    def validate_tasks(self) -> None:
        if len(self.languages) < 2:
            raise ValueError(f"languages must be two or more, got {list(self.languages)}")
        if "lstm" in (self.encoder_kind, self.decoder_kind):
            raise ValueError(
                "encoder_kind and decoder_kind of an MGT must be transformer, or average for the "
                f"encoder, got {self.encoder_kind} and {self.decoder_kind}"
            )
        if self.has_language_variables and self.encoder_kind == "average":
            raise ValueError(
                "has_language_variables must be false with encoder_kind average, which cannot "
                "tell languages apart. In a recipe, set model.language_variables to false"
            )
        if self.has_translation_scorer and not self.reconstructs:
            raise ValueError(
                "has_translation_scorer=True (model.translation_scorer) requires reconstructs, "
                "because a model that only translates has a single output layer"
            )


class MGTModel(LatentModel):
    """Generative model with separate variables for meaning and language, for many languages.

    Example:
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
        >>> config = MGTConfig(**sizes, languages=["en", "fr", "de"], eos_token_id=19)
        >>> model = MGTModel(config).eval()
        >>> model(torch.tensor([[5, 6, 19]])).sentence_embedding.shape
        torch.Size([1, 8])
        >>> model.variables()
        ['semantic', 'en', 'fr', 'de']
    """

    config_class = MGTConfig
    card_sentence = (
        "the posterior mean of the variable {{ variable }}, inferred from its {{ tokens }} by "
        "one {{ 'average' if encoder_kind == 'average' else 'transformer' }} for "
        "{{ languages | join(', ') }} (multilingual generative transformer; thesis, 5.10)"
    )
    balances_translations = True

    def __init__(self, config: MGTConfig) -> None:
        super().__init__(config)
        self.shared_encoder: TransformerEncoder | AverageEncoder
        if config.encoder_kind == "average":
            self.shared_encoder = AverageEncoder(config)
        else:
            self.shared_encoder = TransformerEncoder(config, is_shared=True)
        width, size = config.width, config.hidden_size
        kinds = 2 if config.has_language_variables else 1  # semantic and language variables
        of_kinds = (SEMANTIC, config.languages[0])[:kinds]
        self.means = nn.ModuleList(map_to_mean(config, name) for name in of_kinds)
        self.log_variances = nn.ModuleList(
            Dense(width, size, bias=False) for _ in range(kinds if config.is_variational else 0)
        )
        self.shared_decoder = TransformerDecoder(config, size * kinds, len(config.languages))
        self.translation_scorer = None
        if config.has_translation_scorer:
            self.translation_scorer = Scorer(config, size)
        self.read_variable(config.variable)
        self.post_init()

    def variables_of(self, task: str) -> list[str]:
        return super().variables_of(task)[::-1]  # the zeros of a translation are at the end

    def encoder_of(self, variable: str) -> Inference:
        language = None if variable == SEMANTIC else self.config.languages.index(variable)
        kind = int(language is not None)
        log_variance = self.log_variances[kind] if self.log_variances else None
        return Inference(self.shared_encoder, self.means[kind], log_variance, language)

    def decoder_of(self, task: str) -> Decoder:
        return self.shared_decoder

    def scorer_of(self, task: str) -> Scorer:
        if self.translation_scorer is not None and task.startswith("translate"):
            return self.translation_scorer
        return self.shared_decoder.scorer

    def start_of(self, task: str) -> int:
        """Return the start token of the task's language, an id after the vocabulary."""
        return int(self.config.vocab_size) + self.config.languages.index(language_of(task))

    def encoder_parameters(self, variable: str | None = None) -> Iterator[nn.Parameter]:
        # One encoder infers every variable.
        for part in (self.shared_encoder, self.means, self.log_variances):
            yield from part.parameters()

    def generate(self, *inputs: Any, task: str | None = None, **options: Any) -> Any:
        """Write sentences with transformers' `generate`, starting with the task's language token.

        Example:
            >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
            >>> model = MGTModel(MGTConfig(**sizes, languages=["en", "fr"], eos_token_id=19)).eval()
            >>> ids = model.generate(torch.tensor([[5, 19]]), task="translate_fr", max_new_tokens=3)
            >>> int(ids[0, 0])
            21
        """
        if task is None:
            raise ValueError(f"task must be one of {', '.join(self.tasks())}, got None")
        start = self.start_of(self.named_task(task))
        config = options.get("generation_config")
        if config is None or config.decoder_start_token_id != start:
            options.setdefault("decoder_start_token_id", start)
        return super().generate(*inputs, task=task, **options)

    def add_language(self, code: str) -> None:
        """Add a language before further training.

        Its encoder vector and start token are initialized to the mean over the other languages.

        Example:
            >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
            >>> model = MGTModel(MGTConfig(**sizes, languages=["en", "fr"], eos_token_id=19))
            >>> model.add_language("it")
            >>> model.variables()
            ['semantic', 'en', 'fr', 'it']
        """
        if code in self.config.languages:
            raise ValueError(f"The model already has the language {code!r}")
        refuse_language(code)
        table = self.shared_encoder.languages
        if table is not None:
            self.shared_encoder.languages = _with_row(table, len(self.config.languages))
        self.shared_decoder.table = _with_row(self.shared_decoder.table, len(self.config.languages))
        self.config.languages = [*self.config.languages, code]


def _with_row(table: nn.Embedding, others: int) -> nn.Embedding:
    """Return a table with one more row: the mean of the last `others` rows."""
    rows: Tensor = table.weight.detach()
    grown = nn.Embedding(len(rows) + 1, rows.shape[1], device=rows.device, dtype=rows.dtype)
    grown.sparse = table.sparse
    with torch.no_grad():
        grown.weight.copy_(torch.cat([rows, rows[-others:].mean(0, keepdim=True)]))
    return grown
