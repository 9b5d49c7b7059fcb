"""Configuration, encoders and decoders of generative models of sentence pairs (thesis, 5.4.1, 5.5,
5.9 and 5.12).

Encoders read concatenated token ids, (tokens,), of texts that may be empty, and return a state per
token, (tokens, width). Decoders write a sentence from one vector v, (batch, latent), the
concatenation of the sentence's latent variables. They have no attention to an encoder. v can enter
a decoder at four places (`latent_at`):

* `word`: concatenated with each input token's vector.
* `hidden`: as the LSTM's initial state. A transformer adds a linear map of v to the first token's
  vector.
* `attention`: in place of attention to the source. State and v are concatenated and mapped to the
  width of a state. A transformer adds the result to the state and normalizes the sum.
* `logit`: concatenated with the last state before the output layer.

A decoder's `forward` returns the states from which the next tokens are predicted, (batch, seq,
width), from the previous tokens, (batch, seq), padded on the right.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.packing import Padding
from paraphrastic_hf.layers.product import Dense, linear
from paraphrastic_hf.layers.recurrent import LSTM, run_directions
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions
from paraphrastic_hf.models.base import check_choices

SEMANTIC = "semantic"  # the variable that a sentence shares with its translation
PLACES = ("word", "hidden", "attention", "logit")
ALIGNED = 8  # 16-bit numbers in the 16 bytes that a GPU reads at a time


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


class TransformerEncoder(nn.Module):
    """Transformer that infers one variable, or the semantic and the language variable (5.12).

    A shared encoder has extra input vectors that select the variable: `sem`, or `lang` with a
    vector for the language. Unlike token vectors, they have no position. Each variable has its own
    top block.
    """

    def __init__(self, config: LatentConfig, *, is_shared: bool = False) -> None:
        super().__init__()
        self.dropout, self.is_shared = config.dropout, is_shared
        self.table = nn.Embedding(config.vocab_size, config.width)
        tops = 0
        if is_shared:
            tops, languages = (
                (2, len(config.languages)) if config.has_language_variables else (1, 0)
            )
            self.purposes = nn.Embedding(tops, config.width)
            self.languages = nn.Embedding(languages, config.width) if languages else None
        blocks = [_block(config) for _ in range(tops + config.encoder_layers - is_shared)]
        if is_shared:
            self.tops = nn.ModuleList(blocks[:tops])
        self.blocks = nn.ModuleList(blocks[tops:])

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        """Return the state of each token, (tokens, width).

        `language` is the index of the language to infer the language variable with a shared
        encoder, None for the semantic variable.
        """
        dim = self.table.embedding_dim
        positions = torch.arange(padding.longest, device=ids.device)
        rows = rows_of(self.table, ids) * dim**0.5
        states = padding.pad(rows) + sinusoidal_positions(positions, dim).to(rows)
        mask, blocks, count = padding.mask, [*self.blocks], 0
        if self.is_shared:
            beside = self.purposes.weight[:1]
            if language is not None and self.languages is not None:
                beside = torch.stack([self.purposes.weight[1], self.languages.weight[language]])
            beside = (beside * dim**0.5).to(states)
            count = len(beside)
            states = torch.cat([beside.expand(len(states), -1, -1), states], 1)
            mask = None if mask is None else F.pad(mask, (count, 0), value=True)
            blocks.append(self.tops[int(language is not None)])
        states = dropout(states, self.dropout, self.training)
        for block in blocks:
            states = block(states, mask=mask)
        return padding.flat(states[:, count:])


class AverageEncoder(nn.Module):
    """Encoder that returns rows of a table. Their mean is SP's embedding (thesis, 5.1.1).

    No paper combines it with a decoder. The end mark, with id `end`, gets the zero vector, because
    SP has no end mark.
    """

    languages = None  # unlike a shared transformer, no language vectors

    def __init__(self, config: LatentConfig) -> None:
        super().__init__()
        ends = [config.eos_token_id, config.decoder_start_token_id]
        self.end = next((end for end in ends if isinstance(end, int)), None)
        self.table = nn.Embedding(config.vocab_size, config.width)

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        states = rows_of(self.table, ids) * self.table.embedding_dim**0.5
        return states if self.end is None else states * (ids != self.end)[:, None]


class LstmEncoder(nn.Module):
    """Bidirectional LSTM over a table of token vectors. Each direction has half of the width."""

    def __init__(self, config: LatentConfig) -> None:
        super().__init__()
        dim, self.dropout = config.width, config.dropout
        self.table = nn.Embedding(config.vocab_size, dim)
        self.forth, self.back = LSTM(dim, dim // 2), LSTM(dim, dim // 2)

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        rows = dropout(rows_of(self.table, ids), self.dropout, self.training)
        states = run_directions((self.forth, self.back), rows, padding.lengths)
        return dropout(states, self.dropout, self.training)


class Addition(Dense):
    """Dense layer with zero initial weights. Its output is added to an average (`adds_average`)."""


def map_to_mean(config: LatentConfig, variable: str) -> nn.Module:
    """Return the layer that maps an encoder's mean state to the posterior's mean."""
    if variable == SEMANTIC and config.encoder_kind == "average":
        return nn.Identity()
    is_added = variable == SEMANTIC and config.adds_average
    return (Addition if is_added else Dense)(config.width, config.hidden_size, bias=False)


@dataclass(frozen=True)
class Inference:
    """Parts of a model that infer one variable.

    `language` is the index of the variable's language, for a shared encoder. None for the semantic
    variable.
    """

    encoder: Any
    mean: Any
    log_variance: Any
    language: int | None = None

    def states(self, ids: Tensor, padding: Padding) -> Tensor:
        """Return the state of each token, (tokens, width)."""
        return self.encoder(ids, padding, self.language)  # type: ignore[no-any-return]

    def added_rows(self, ids: Tensor) -> Tensor | None:
        """Return the vectors to add to the mean, (tokens, dim). None without `adds_average`."""
        if not isinstance(self.mean, Addition):
            return None
        table = self.encoder.table
        return rows_of(table, ids) * table.embedding_dim**0.5


class VariableEncoder(nn.Module):
    """Encoder of one variable, with layers that map its mean state to mean and log-variance.

    The layers have no bias, as in the released code. Models that are not variational also have the
    layer of the mean, unlike in the thesis's appendix (5.9.1).
    """

    def __init__(self, config: LatentConfig, variable: str) -> None:
        super().__init__()
        self.encoder = ENCODERS[config.encoder_kind](config)
        self.mean = map_to_mean(config, variable)
        self.log_variance = None
        if config.is_variational:
            self.log_variance = Dense(config.width, config.hidden_size, bias=False)


class Scorer(nn.Module):
    """Scores of tokens, W_h h + W_v v, from a decoder state h and the latent vector v.

    The product with v is computed once per sentence. v affects the scores if `latent_at` names
    `logit`.
    """

    def __init__(self, config: LatentConfig, latent: int) -> None:
        super().__init__()
        self.dim = config.width
        columns = self.dim + (latent if "logit" in config.latent_at else 0)
        self.weight = nn.Embedding(config.vocab_size, columns)

    def forward(
        self, states: Tensor, latent: Tensor, sentence: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Return the scores of the requested tokens, (places, tokens).

        `states` are (places, width), `latent` v of each sentence, (batch, latent), and `sentence`
        the index of each place's sentence. `tokens` are distinct ids, None for all tokens.
        """
        rows: Tensor = self.weight.weight if tokens is None else rows_of(self.weight, tokens)
        count = len(rows)
        lacking = -count % ALIGNED
        # 16-bit products take three times as long if the number of rows is not a multiple of 8.
        if lacking and rows.is_cuda and torch.is_autocast_enabled("cuda"):
            rows = F.pad(rows, (0, 0, 0, lacking))
        scores = linear(states, rows[:, : self.dim])
        if rows.shape[1] > self.dim:
            end = self.dim + latent.shape[1]
            scores = scores + linear(latent, rows[:, self.dim : end]).index_select(0, sentence)
        return scores[:, :count]


def _block(config: LatentConfig) -> TransformerBlock:
    heads, units = config.num_attention_heads, config.intermediate_size
    return TransformerBlock(config.width, heads, units, dropout=config.dropout)


class LatentBlock(TransformerBlock):
    """Transformer block with v in place of attention to an encoder (thesis, 5.4.1)."""

    def __init__(self, config: LatentConfig, latent: int) -> None:
        dim, heads = config.width, config.num_attention_heads
        super().__init__(dim, heads, config.intermediate_size, dropout=config.dropout)
        self.from_state = Dense(dim, dim)
        self.from_latent = Dense(latent, dim, bias=False)
        self.latent_norm = nn.LayerNorm(dim)

    def forward(  # type: ignore[override]
        self, states: Tensor, latent: Tensor, *, cache: Any, layer: int
    ) -> Tensor:
        """Return the states after the block, (batch, seq, width), with v, (batch, latent)."""

        def attend(inputs: Tensor) -> Tensor:
            return self.attention(inputs, mask=None, is_causal=True, cache=cache, layer=layer)

        def mix(inputs: Tensor) -> Tensor:
            return self.from_state(inputs) + self.from_latent(latent)[:, None]

        states = self._add(states, attend, self.attention_norm)
        states = self._add(states, mix, self.latent_norm)
        return self._add(states, self._dense, self.dense_norm)


class TransformerDecoder(nn.Module):
    """Causal transformer that writes a sentence from v.

    `starts` tokens after the vocabulary, such as one per language, start sentences and are never
    predicted.
    """

    has_cache = True

    def __init__(self, config: LatentConfig, latent: int, starts: int = 0) -> None:
        super().__init__()
        dim, places = config.width, config.latent_at
        self.dropout, self.latent = config.dropout, latent
        self.table = nn.Embedding(config.vocab_size + starts, dim)
        self.word = Dense(dim + latent, dim) if "word" in places else None
        self.first = Dense(latent, dim) if "hidden" in places else None
        self.blocks = nn.ModuleList(
            LatentBlock(config, latent) if "attention" in places else _block(config)
            for _ in range(config.decoder_layers)
        )
        self.scorer = Scorer(config, latent)

    def forward(self, ids: Tensor, latent: Tensor, cache: Any = None) -> Tensor:
        """Return the states, (batch, seq, width). `cache` has earlier keys and values."""
        known = 0 if cache is None else cache.get_seq_length()
        latent = F.pad(latent, (0, self.latent - latent.shape[1]))
        dim = self.table.embedding_dim
        vectors = rows_of(self.table, ids.reshape(-1)).view(*ids.shape, dim) * dim**0.5
        if self.word is not None:
            beside = latent[:, None].expand(-1, ids.shape[1], -1)
            vectors = self.word(torch.cat([vectors, beside], -1))
        if self.first is not None and known == 0:
            start = self.first(latent)[:, None]
            vectors = torch.cat([vectors[:, :1] + start, vectors[:, 1:]], 1)
        positions = torch.arange(known, known + ids.shape[1], device=ids.device)
        states = vectors + sinusoidal_positions(positions, dim).to(vectors)
        states = dropout(states, self.dropout, self.training)
        for layer, block in enumerate(self.blocks):
            if isinstance(block, LatentBlock):
                states = block(states, latent, cache=cache, layer=layer)
            else:
                states = block(states, mask=None, is_causal=True, cache=cache, layer=layer)
        return states


class LstmDecoder(nn.Module):
    """LSTM that writes a sentence from v (thesis, 5.9.1)."""

    has_cache = False  # each generation step reads the whole prefix again

    def __init__(self, config: LatentConfig, latent: int) -> None:
        super().__init__()
        dim, places, self.dropout = config.width, config.latent_at, config.dropout
        self.table = nn.Embedding(config.vocab_size, dim)
        self.has_word, self.has_hidden = "word" in places, "hidden" in places
        self.lstm = nn.LSTM(dim + latent * self.has_word, dim, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad_(False)
        # As in the thesis, v is the initial state if the sizes agree.
        self.first = Dense(latent, dim) if self.has_hidden and latent != dim else None
        self.context = Dense(dim + latent, dim) if "attention" in places else None
        self.scorer = Scorer(config, latent)

    def forward(self, ids: Tensor, latent: Tensor, cache: Any = None) -> Tensor:
        """Return the states, (batch, seq, width). `cache` must be None."""
        vectors = rows_of(self.table, ids.reshape(-1)).view(*ids.shape, -1)
        vectors = dropout(vectors, self.dropout, self.training)
        beside = latent[:, None].expand(-1, ids.shape[1], -1)
        if self.has_word:
            vectors = torch.cat([vectors, beside], -1)
        start = None
        if self.has_hidden:
            hidden = latent if self.first is None else self.first(latent)
            hidden = hidden[None].contiguous()
            start = (hidden, torch.zeros_like(hidden))
        states, _ = self.lstm(vectors, start)
        if self.context is not None:
            states = torch.tanh(self.context(torch.cat([states, beside], -1)))
        return dropout(states, self.dropout, self.training)


Decoder = TransformerDecoder | LstmDecoder
ENCODERS = {"transformer": TransformerEncoder, "lstm": LstmEncoder, "average": AverageEncoder}
DECODERS: dict[str, Any] = {"transformer": TransformerDecoder, "lstm": LstmDecoder}
