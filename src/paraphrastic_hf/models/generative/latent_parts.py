"""Configuration and parts of generative models of sentence pairs (thesis, 5.4, 5.5 and 5.9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig

from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.latent import (
    PLACES,
    AverageEncoder,
    LstmDecoder,
    LstmEncoder,
    SharedEncoder,
    TransformerDecoder,
    TransformerEncoder,
)
from paraphrastic_hf.layers.packing import Padding
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.models.base import check_choices

SEMANTIC = "semantic"  # the variable that a sentence shares with its translation
DECODERS = ("transformer", "lstm")
ENCODERS = (*DECODERS, "average")
Decoder = TransformerDecoder | LstmDecoder


def refuse_language(code: str) -> None:
    """Raise ValueError if a language code is empty or is the name of the semantic variable."""
    if code in ("", SEMANTIC):
        raise ValueError(f"languages must not contain '' or {SEMANTIC!r}, got {code!r}")


@strict
class LatentConfig(PreTrainedConfig):
    """Settings of every generative model of sentence pairs.

    Args:
        vocab_size: Number of tokens, including padding and the end mark.
        languages: Language codes, in the order of the sides of a pair.
        hidden_size: Dimensions of a latent variable and of a sentence embedding.
        state_size: Dimensions of the states of encoders and decoders, `hidden_size` if None. Must
            be even. Transformers need a multiple of `num_attention_heads`.
        encoder_kind: `transformer`, `lstm` (bidirectional) or `average` (of token vectors).
        encoder_layers: Blocks of a transformer encoder, 5 in the thesis.
        decoder_kind: `transformer` or `lstm`.
        decoder_layers: Blocks of a transformer decoder, 1 in the thesis.
        num_attention_heads: Attention heads per block.
        intermediate_size: Hidden units of a block's feed-forward layer.
        dropout: Probability that a value is zeroed in training, 0 to below 1.
        latent_at: Where the variables enter a decoder: `word`, `hidden`, `attention`, `logit`
            (thesis, 5.9.1).
        is_variational: Whether training samples variables from their posteriors. If False, it uses
            the means.
        adds_average: Whether to add the average token vector (SP, 5.1.1), times the square root of
            `state_size`, to the mean of the semantic variable. The encoder then starts with output
            0. Needs `state_size` equal to `hidden_size`. Not in the papers.
        has_language_variables: Whether each reconstructed language has a variable in addition to
            the semantic variable, which only reconstruction reads.
        variable: Variable whose posterior mean is the embedding, `semantic` or a language.
        is_centered: Whether a vector is subtracted from semantic embeddings
            (`LatentModel.center_on`).
    """

    attribute_map = {"num_hidden_layers": "decoder_layers"}

    vocab_size: int = 20000
    languages: list[str] = field(default_factory=lambda: ["en", "fr"])
    hidden_size: int = 1024
    state_size: int | None = None
    encoder_kind: str = "transformer"
    encoder_layers: int = 5
    decoder_kind: str = "transformer"
    decoder_layers: int = 1
    num_attention_heads: int = 8
    intermediate_size: int = 1024
    dropout: float | int = 0.3
    latent_at: list[str] = field(default_factory=lambda: ["attention", "logit"])
    is_variational: bool = True
    adds_average: bool = False
    has_language_variables: bool = True
    variable: str = "semantic"
    is_centered: bool = False
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def width(self) -> int:
        return self.hidden_size if self.state_size is None else self.state_size

    def validate_latent(self) -> None:
        check_choices(self, encoder_kind=ENCODERS, decoder_kind=DECODERS)
        uses_heads = "transformer" in (self.encoder_kind, self.decoder_kind)
        if self.width % 2 or (uses_heads and self.width % self.num_attention_heads):
            raise ValueError(
                f"state_size must be even and a multiple of num_attention_heads "
                f"({self.num_attention_heads}), got {self.width}"
            )
        is_average = self.encoder_kind == "average"
        if (self.adds_average or is_average) and self.width != self.hidden_size:
            raise ValueError(
                f"state_size must equal hidden_size ({self.hidden_size}) with "
                f"{'encoder_kind average' if is_average else 'adds_average=True'}, got "
                f"{self.width}"
            )
        if self.adds_average and is_average:
            raise ValueError("adds_average must be false with encoder_kind average")
        unknown = [place for place in self.latent_at if place not in PLACES]
        if unknown or not self.latent_at:
            raise ValueError(
                f"latent_at must name some of {', '.join(PLACES)}, got {self.latent_at}"
            )
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must be distinct, got {list(self.languages)}")
        for language in self.languages:
            refuse_language(language)
        if self.has_language_variables and not self.reconstructs:  # type: ignore[attr-defined]
            raise ValueError(
                "has_language_variables=True requires reconstructs, because translations only use "
                "the semantic variable. In a recipe, set model.language_variables to false"
            )


class Addition(Dense):
    """Dense layer with zero initial weights. Its output is added to an average (`adds_average`)."""


def map_to_mean(config: LatentConfig, variable: str) -> nn.Module:
    """Return the layer that maps an encoder's mean state to the posterior's mean."""
    if variable == SEMANTIC and config.encoder_kind == "average":
        return nn.Identity()
    is_added = variable == SEMANTIC and config.adds_average
    return (Addition if is_added else Dense)(config.width, config.hidden_size, bias=False)


def average_of(config: LatentConfig) -> AverageEncoder:
    """Return the encoder of a config with `encoder_kind` average."""
    ends = [config.eos_token_id, config.decoder_start_token_id]
    end = next((end for end in ends if isinstance(end, int)), None)
    return AverageEncoder(config.vocab_size, config.width, end=end)


class Inference(nn.Module):
    """Encoder of one variable, with layers that map its mean state to mean and log-variance.

    The layers have no bias, as in the released code. Models that are not variational also have the
    layer of the mean, unlike in the thesis's appendix (5.9.1).
    """

    def __init__(self, config: LatentConfig, variable: str) -> None:
        super().__init__()
        width, size = config.width, config.hidden_size
        self.encoder: TransformerEncoder | LstmEncoder | AverageEncoder
        if config.encoder_kind == "average":
            self.encoder = average_of(config)
        elif config.encoder_kind == "lstm":
            self.encoder = LstmEncoder(config.vocab_size, width, dropout=config.dropout)
        else:
            self.encoder = TransformerEncoder(
                config.vocab_size,
                width,
                layers=config.encoder_layers,
                heads=config.num_attention_heads,
                feed_forward=config.intermediate_size,
                dropout=config.dropout,
            )
        self.mean = map_to_mean(config, variable)
        self.log_variance = Dense(width, size, bias=False) if config.is_variational else None


@dataclass(frozen=True)
class SharedInference:
    """As `Inference`, but the encoder is shared by several variables."""

    encoder: Purpose
    mean: nn.Module
    log_variance: nn.Linear | None


@dataclass(frozen=True)
class Purpose:
    """Shared encoder that infers the variable of `language` (an index), or `semantic` if None."""

    shared: SharedEncoder | AverageEncoder
    language: int | None

    @property
    def table(self) -> nn.Embedding:
        return self.shared.table

    def __call__(self, ids: Tensor, padding: Padding) -> Tensor:
        """Return the state of each token, (tokens, width)."""
        return self.shared(ids, padding, self.language)  # type: ignore[no-any-return]


AnyInference = Inference | SharedInference


def added_rows(inference: AnyInference, ids: Tensor) -> Tensor | None:
    """Return the token vectors to add to the mean, (tokens, dim). None without `adds_average`."""
    if not isinstance(inference.mean, Addition):
        return None
    table = inference.encoder.table
    return rows_of(table, ids) * table.embedding_dim**0.5


def make_decoder(config: LatentConfig, latent: int, starts: int = 0) -> Decoder:
    """Return a decoder of `latent` dimensions, with `starts` start tokens after the vocabulary."""
    shared: dict[str, Any] = {"dropout": config.dropout, "places": tuple(config.latent_at)}
    if config.decoder_kind == "lstm":
        return LstmDecoder(config.vocab_size, config.width, latent, **shared)
    return TransformerDecoder(
        config.vocab_size,
        config.width,
        latent,
        layers=config.decoder_layers,
        heads=config.num_attention_heads,
        feed_forward=config.intermediate_size,
        starts=starts,
        **shared,
    )


def start_weights(module: nn.Module) -> None:
    """Initialize one module.

    Dense layers are Glorot uniform with bias 0. Rows of tables and output layers are normal, with
    length about 1, twice as long as the released code's output rows.
    """
    if isinstance(module, Addition):
        nn.init.zeros_(module.weight)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, nn.LayerNorm):
        module.reset_parameters()
    elif isinstance(module, nn.LSTM):
        module.reset_parameters()
        with torch.no_grad():
            module.get_parameter("bias_hh_l0").zero_()
