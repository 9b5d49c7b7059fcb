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

from collections.abc import Iterator
from dataclasses import field

from huggingface_hub.dataclasses import strict
from torch import nn

from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import (
    DECODERS,
    Decoder,
    Inference,
    LatentConfig,
    VariableEncoder,
)


@strict
class BGTConfig(LatentConfig):
    """Configuration of `BGTModel`, with the settings of `LatentConfig` for two languages.

    Args:
        reconstructs: Languages whose sentences are reconstructed.
        translates: Target languages of translation. The source is the other language.

    Example:
        >>> BGTConfig(vocab_size=100, hidden_size=32).languages
        ['en', 'fr']
    """

    model_type = "paraphrastic-bgt"

    reconstructs: list[str] = field(default_factory=lambda: ["en", "fr"])
    translates: list[str] = field(default_factory=lambda: ["en", "fr"])

    def validate_tasks(self) -> None:
        if len(self.languages) != 2:
            raise ValueError(
                f"languages must be two, got {', '.join(self.languages)}. Use an MGT for more"
            )
        for language in self.languages:  # keys of an nn.ModuleDict
            if "." in language or hasattr(nn.ModuleDict, language):
                raise ValueError(
                    f"languages must be valid names of torch modules, got {language!r}. Use "
                    "another code, for example with three letters"
                )
        for name in ("reconstructs", "translates"):
            named = getattr(self, name)
            if len({*named} & {*self.languages}) < len(named):
                raise ValueError(
                    f"{name} must name languages of the pairs ({', '.join(self.languages)}), each "
                    f"once, got {list(named)}"
                )
        if not self.reconstructs and not self.translates:
            raise ValueError("reconstructs and translates are both empty. Name a language in one")


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
        self.inference = nn.ModuleDict(
            {name: VariableEncoder(config, name) for name in self.variables()}
        )
        latent = {of: config.hidden_size * len(self.variables_of(of)) for of in self.tasks()}
        make = DECODERS[config.decoder_kind]
        self.decoders = nn.ModuleDict({task: make(config, size) for task, size in latent.items()})
        self.read_variable(config.variable)
        self.post_init()

    def encoder_of(self, variable: str) -> Inference:
        part = self.inference[variable]
        return Inference(part.encoder, part.mean, part.log_variance)

    def encoder_parameters(self, variable: str | None = None) -> Iterator[nn.Parameter]:
        return (self.inference if variable is None else self.inference[variable]).parameters()

    def decoder_of(self, task: str) -> Decoder:
        return self.decoders[task]  # type: ignore[return-value]
