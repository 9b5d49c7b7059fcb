"""Bilingual generative transformer (BGT), its ablations, and its LSTM forms (thesis, 5.4 to 5.9).

A semantic encoder reads both languages. Each language also has an encoder for properties that
translations do not share. The models of Table 48 (autoencoders: only in the 2020 paper) differ in
the sentences that they write and in their latent variables:

| row | reconstructs | translates | language variables | variational |
|---|---|---|---|---|
| Eng. AE | en | | no | no |
| Eng. VAE | en | | no | yes |
| Eng. Trans. | | fr | no | no |
| Multiling. Trans. | | en, fr | no | no |
| Var. Multiling. Trans. | | en, fr | no | yes |
| BGT without prior | en, fr | en, fr | yes | no |
| BGT | en, fr | en, fr | yes | yes |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from huggingface_hub.dataclasses import strict
from torch import nn

from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import (
    SEMANTIC,
    Decoder,
    Inference,
    LatentConfig,
    make_decoder,
)


@strict
class BGTConfig(LatentConfig):
    """Configuration of `BGTModel`, with the settings of `LatentConfig` for two languages.

    Args:
        reconstructs: Languages whose sentences are reconstructed.
        translates: Target languages of translation. The source is the other language.
        has_language_variables: Whether each reconstructed language has a variable in addition to
            the semantic variable.

    Example:
        >>> BGTConfig(vocab_size=100, hidden_size=32).languages
        ['en', 'fr']
    """

    model_type = "paraphrastic-bgt"

    reconstructs: list[str] = field(default_factory=lambda: ["en", "fr"])
    translates: list[str] = field(default_factory=lambda: ["en", "fr"])
    has_language_variables: bool = True

    def validate_tasks(self) -> None:
        if len(self.languages) != 2:
            raise ValueError(f"languages must be two, got {list(self.languages)}")
        for language in self.languages:  # keys of an nn.ModuleDict
            if "." in language or hasattr(nn.ModuleDict, language):
                raise ValueError(
                    f"languages must be valid names of torch modules, got {language!r}. Use "
                    "another code, for example with three letters"
                )
        for name in ("reconstructs", "translates"):
            named = list(getattr(self, name))
            if len(set(named)) < len(named):
                raise ValueError(f"{name} must name each language once, got {named}")
            for language in named:
                if language not in self.languages:
                    raise ValueError(
                        f"{name} must be among the languages of the pairs "
                        f"({', '.join(self.languages)}), got {language!r}"
                    )
        if not self.reconstructs and not self.translates:
            raise ValueError("reconstructs and translates are both empty. Name a language in one")
        if self.has_language_variables and not self.reconstructs:
            raise ValueError(
                "has_language_variables=True requires languages in reconstructs, because "
                "translations only use the semantic variable. In a recipe, set "
                "model.language_variables to false, or set model.reconstructs"
            )


class BGTModel(LatentModel):
    """Generative model that learns separate variables for meaning and language from translations.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "num_attention_heads": 2}
        >>> model = BGTModel(BGTConfig(**sizes, eos_token_id=19, decoder_start_token_id=19)).eval()
        >>> model(torch.tensor([[5, 6, 19]])).sentence_embedding.shape
        torch.Size([1, 8])
        >>> model.tasks()
        ['translate_en', 'translate_fr', 'reconstruct_en', 'reconstruct_fr']
    """

    config_class = BGTConfig
    card_sentence = (
        "the posterior mean of the variable {{ variable }}, inferred from its {{ tokens }} by "
        "{{ {'lstm': 'an LSTM', 'average': 'an average'}.get(encoder_kind, 'a transformer') }} "
        "(bilingual generative transformer; thesis, 5.4)"
    )

    def __init__(self, config: BGTConfig) -> None:
        super().__init__(config)
        self.inference = nn.ModuleDict({name: Inference(config, name) for name in self.variables()})
        self.decoders = nn.ModuleDict(
            {
                task: make_decoder(config, config.hidden_size * len(self.variables_of(task)))
                for task in self.tasks()
            }
        )
        self.read_variable(config.variable)
        self.post_init()

    def variables(self) -> list[str]:
        config = self.config
        own = config.reconstructs if config.has_language_variables else []
        return [SEMANTIC, *(name for name in config.languages if name in own)]

    def tasks(self) -> list[str]:
        config = self.config
        return [
            f"{verb}_{language}"
            for verb in ("translate", "reconstruct")
            for language in config.languages
            if language in getattr(config, f"{verb}s")
        ]

    def variables_of(self, task: str) -> list[str]:
        verb, language = task.split("_", 1)
        if verb == "reconstruct" and self.config.has_language_variables:
            return [language, SEMANTIC]
        return [SEMANTIC]

    def encoder_of(self, variable: str) -> Inference:
        return self.inference[variable]  # type: ignore[return-value]

    def encoder_parameters(self, variable: str | None = None) -> Iterator[nn.Parameter]:
        return (self.inference if variable is None else self.inference[variable]).parameters()

    def decoder_of(self, task: str) -> Decoder:
        return self.decoders[task]  # type: ignore[return-value]

    @property
    def reads_both_sides(self) -> bool:
        # An autoencoder of one language reads only that language.
        return len(self.config.reconstructs) == 2
