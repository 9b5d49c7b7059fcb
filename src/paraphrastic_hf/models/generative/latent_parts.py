"""Configuration and parts of generative models of sentence pairs: the encoders that infer a latent
variable, and the decoders that write a sentence from some (thesis, 5.4, 5.5 and 5.9)."""

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

SEMANTIC = "semantic"  # the variable of what a sentence and its translation have in common
DECODERS = ("transformer", "lstm")
ENCODERS = (*DECODERS, "average")
SIZES = (
    *("vocab_size", "hidden_size", "state_size", "encoder_layers", "decoder_layers"),
    *("num_attention_heads", "intermediate_size"),
)
Decoder = TransformerDecoder | LstmDecoder


def refuse_language(code: str) -> None:
    """Refuse a code that no language can have, since the variable of meaning has it.

    Raises:
        ValueError: It is that name, or empty.
    """
    if code in ("", SEMANTIC):
        raise ValueError(f"a language must have a code such as en, got {code!r}")


@strict
class LatentConfig(PreTrainedConfig):
    """Settings of every generative model of sentence pairs.

    Args:
        vocab_size: Tokens, with padding and the end mark.
        languages: Their codes, in the order of the sides of a pair.
        hidden_size: Dimensions of a latent variable, and so of a sentence vector.
        state_size: Dimensions of the states of encoders and decoders; `hidden_size` if None. Even,
            and in transformers a multiple of `num_attention_heads`.
        encoder_kind: Architecture of the encoders, `transformer`, `lstm` (in both directions) or
            `average` (of the tokens' vectors).
        encoder_layers: Blocks of a transformer that encodes; the thesis takes 5.
        decoder_kind: Architecture of the decoders.
        decoder_layers: Blocks of a transformer that decodes; the thesis takes 1.
        num_attention_heads: Attention heads of a block.
        intermediate_size: Units of the feed-forward layer of a block.
        dropout: Probability that a number is zeroed in training, 0 to below 1.
        latent_at: Where the variables enter a decoder, of `word`, `hidden`, `attention`, `logit`
            (thesis, 5.9.1).
        is_variational: Whether variables are drawn from their posteriors in training; if not, each
            is its mean.
        adds_average: Whether the mean of the semantic variable is the average of the tokens'
            vectors (SP, 5.1.1), times the root of their size, and what the encoder makes of them
            beside it, at first nothing. No paper has this. `state_size` is then `hidden_size`.
        variable: The variable whose mean is the embedding, `semantic` or a language.
        is_centered: Whether embeddings by meaning are less a vector that all share
            (`LatentModel.center_on`).

    Raises:
        ValueError: Sizes that do not go together, or an unknown name.
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
        """Dimensions of the states of encoders and decoders."""
        return self.hidden_size if self.state_size is None else self.state_size

    def validate_latent(self) -> None:
        """Refuse sizes and names without a meaning."""
        for name in SIZES:
            size = self.width if name == "state_size" else getattr(self, name)
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        for name, known in (("encoder_kind", ENCODERS), ("decoder_kind", DECODERS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be {' or '.join(known)}, got {getattr(self, name)!r}"
                )
        uses_heads = "transformer" in (self.encoder_kind, self.decoder_kind)
        if self.width % 2 or (uses_heads and self.width % self.num_attention_heads):
            raise ValueError(
                f"state_size must be even and a multiple of num_attention_heads "
                f"({self.num_attention_heads}), got {self.width}"
            )
        is_average = self.encoder_kind == "average"
        if (self.adds_average or is_average) and self.width != self.hidden_size:
            raise ValueError(
                f"{'an average' if is_average else 'adds_average'} needs states of the size of a "
                f"variable, {self.hidden_size}, got state_size {self.width}"
            )
        if self.adds_average and is_average:
            raise ValueError("adds_average is for encoders that are not an average themselves")
        unknown = [place for place in self.latent_at if place not in PLACES]
        if unknown or not self.latent_at:
            raise ValueError(
                f"latent_at must name some of {', '.join(PLACES)}, got {list(self.latent_at)}"
            )
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must differ, got {list(self.languages)}")
        for language in self.languages:
            refuse_language(language)


class Addition(Dense):
    """A map whose result is added to something, and is nothing before training."""


def map_to_mean(config: LatentConfig, variable: str) -> nn.Module:
    """What makes a posterior's mean of the mean state."""
    if variable == SEMANTIC and config.encoder_kind == "average":
        return nn.Identity()
    is_added = variable == SEMANTIC and config.adds_average
    return (Addition if is_added else Dense)(config.width, config.hidden_size, bias=False)


def average_of(config: LatentConfig) -> AverageEncoder:
    """The encoder of a config whose `encoder_kind` is `average`."""
    ends = [config.eos_token_id, config.decoder_start_token_id]
    end = next((end for end in ends if isinstance(end, int)), None)
    return AverageEncoder(config.vocab_size, config.width, end=end)


class Inference(nn.Module):
    """What infers one variable: an encoder, and maps of its mean state to mean and log-variance,
    without bias, as released.

    Models that are not variational have the map to the mean too. In the thesis's appendix (5.9.1)
    the mean state is the embedding itself.
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
    """What infers one variable by an encoder that infers others too, in the form of `Inference`.

    Attributes:
        encoder: The encoder, told which variable it reads for.
        mean: Map of the mean state to the posterior's mean.
        log_variance: And to the logarithm of its variance; None for a variable that is a vector.
    """

    encoder: Purpose
    mean: nn.Module
    log_variance: nn.Linear | None


@dataclass(frozen=True)
class Purpose:
    """A shared encoder that reads for one variable.

    Attributes:
        shared: The encoder.
        language: Number of the language whose own part it reads for; the meaning if None.
    """

    shared: SharedEncoder | AverageEncoder
    language: int | None

    @property
    def table(self) -> nn.Embedding:
        """Vectors of the tokens."""
        return self.shared.table

    def __call__(self, ids: Tensor, padding: Padding) -> Tensor:
        """The state of each token, (tokens, width), of texts laid end to end."""
        states: Tensor = self.shared(ids, padding, self.language)
        return states


AnyInference = Inference | SharedInference


def added_rows(inference: AnyInference, ids: Tensor) -> Tensor | None:
    """The tokens' vectors, (tokens, dim), whose average is a part of the posterior's mean; None
    where none is (`adds_average`)."""
    if not isinstance(inference.mean, Addition):
        return None
    table = inference.encoder.table
    return rows_of(table, ids) * table.embedding_dim**0.5


def make_decoder(config: LatentConfig, latent: int, starts: int = 0) -> Decoder:
    """A decoder of the architecture that a config names, from `latent` numbers, with so many tokens
    besides those of the vocabulary to begin after."""
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
    """Dense layers start Glorot uniform with bias 0; rows of tables and output layers normal,
    of length about 1 (those of released output layers are Glorot, about half as long)."""
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
