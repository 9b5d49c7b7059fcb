"""Encoders and decoders around latent variables (thesis, 5.4.1, 5.5, 5.9 and 5.12).

Encoders read concatenated token ids, (tokens,), of texts that may be empty. They return a state per
token, (tokens, dim). Decoders write a sentence from one vector v, (batch, latent), the
concatenation of the sentence's latent variables. They have no attention to an encoder. v can enter
a decoder at four places:

* `word`: concatenated with each input token's vector.
* `hidden`: as the LSTM's initial state. A transformer adds a linear map of v to the first token's
  vector.
* `attention`: in place of attention to the source. State and v are concatenated and mapped to the
  width of a state. A transformer adds the result to the state and normalizes the sum.
* `logit`: concatenated with the last state before the output layer.

A decoder's `forward` returns the states from which the next tokens are predicted, (batch, seq,
dim), from the previous tokens, (batch, seq), padded on the right.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.packing import Padding
from paraphrastic_hf.layers.product import Dense, linear
from paraphrastic_hf.layers.recurrent import LSTM, run_directions
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions


class TransformerEncoder(nn.Module):
    """Transformer blocks over a table of token vectors."""

    def __init__(
        self, vocab: int, dim: int, *, layers: int, heads: int, feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.table = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, heads, feed_forward, dropout=dropout) for _ in range(layers)
        )

    def forward(self, ids: Tensor, padding: Padding) -> Tensor:
        """Return the state of each token, (tokens, dim)."""
        states = dropout(_embed(self.table, ids, padding), self.dropout, self.training)
        mask = padding.mask
        for block in self.blocks:
            states = block(states, mask=mask)
        return padding.flat(states)


class SharedEncoder(nn.Module):
    """Transformer that infers the semantic or the language variable of a sentence (thesis, 5.12).

    Extra input vectors select the variable: `sem`, or `lang` with a vector for the language. Each
    variable has its own top block. Unlike token vectors, the extra vectors have no position.

    Args:
        languages: Number of languages. 0 for the semantic variable only.
        layers: Number of blocks that a sentence passes through, including the top block.
    """

    def __init__(
        self,
        vocab: int,
        dim: int,
        languages: int,
        *,
        layers: int,
        heads: int,
        feed_forward: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.table = nn.Embedding(vocab, dim)
        kinds = 2 if languages else 1
        self.purposes = nn.Embedding(kinds, dim)
        self.languages = nn.Embedding(languages, dim) if languages else None
        blocks = [
            TransformerBlock(dim, heads, feed_forward, dropout=dropout)
            for _ in range(kinds + layers - 1)
        ]
        self.tops, self.blocks = nn.ModuleList(blocks[:kinds]), nn.ModuleList(blocks[kinds:])

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        """Return the state of each token, (tokens, dim).

        `language` is the index of the language to infer the language variable, None for the
        semantic variable.
        """
        states = _embed(self.table, ids, padding)
        beside = self.purposes.weight[:1]
        if language is not None and self.languages is not None:
            beside = torch.stack([self.purposes.weight[1], self.languages.weight[language]])
        beside = (beside * beside.shape[1] ** 0.5).to(states)
        count = len(beside)
        states = torch.cat([beside.expand(len(states), -1, -1), states], 1)
        states = dropout(states, self.dropout, self.training)
        mask = None if padding.mask is None else F.pad(padding.mask, (count, 0), value=True)
        for block in (*self.blocks, self.tops[int(language is not None)]):
            states = block(states, mask=mask)
        return padding.flat(states[:, count:])


class AverageEncoder(nn.Module):
    """Encoder that returns rows of a table. Their mean is SP's embedding (thesis, 5.1.1).

    No paper combines it with a decoder. The end mark, with id `end`, gets the zero vector, because
    SP has no end mark.
    """

    languages = None  # unlike `SharedEncoder`, no language vectors

    def __init__(self, vocab: int, dim: int, *, end: int | None) -> None:
        super().__init__()
        self.end = end
        self.table = nn.Embedding(vocab, dim)

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        """Return the state of each token, (tokens, dim). `language` is ignored."""
        states = rows_of(self.table, ids) * self.table.embedding_dim**0.5
        return states if self.end is None else states * (ids != self.end)[:, None]


class LstmEncoder(nn.Module):
    """Bidirectional LSTM over a table of token vectors. Each direction has half of `dim`."""

    def __init__(self, vocab: int, dim: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.table = nn.Embedding(vocab, dim)
        self.forth, self.back = LSTM(dim, dim // 2), LSTM(dim, dim // 2)

    def forward(self, ids: Tensor, padding: Padding) -> Tensor:
        """Return the state of each token, (tokens, dim)."""
        rows = dropout(rows_of(self.table, ids), self.dropout, self.training)
        states = run_directions((self.forth, self.back), rows, padding.lengths)
        return dropout(states, self.dropout, self.training)


def _embed(table: nn.Embedding, ids: Tensor, padding: Padding) -> Tensor:
    """Return scaled token vectors plus position vectors, (batch, seq, dim)."""
    dim = table.embedding_dim
    positions = torch.arange(padding.longest, device=ids.device)
    rows = rows_of(table, ids) * dim**0.5
    return padding.pad(rows) + sinusoidal_positions(positions, dim).to(rows)


PLACES = ("word", "hidden", "attention", "logit")
ALIGNED = 8  # 16-bit numbers in the 16 bytes that a GPU reads at a time


class Scorer(nn.Module):
    """Scores of tokens, W_h h + W_v v, from a decoder state h and the latent vector v.

    The product with v is computed once per sentence. `latent` is 0 if v does not affect the scores.
    """

    def __init__(self, vocab: int, dim: int, latent: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight = nn.Embedding(vocab, dim + latent)

    def forward(
        self, states: Tensor, latent: Tensor, sentence: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Return the scores of the requested tokens, (places, tokens).

        Args:
            states: Decoder states, (places, dim).
            latent: v of each sentence, (batch, latent).
            sentence: Index of each place's sentence, (places,).
            tokens: Ids of the tokens to score, (tokens,), without duplicates. None for all tokens.
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


class LatentBlock(TransformerBlock):
    """Transformer block with v in place of attention to an encoder (thesis, 5.4.1)."""

    def __init__(
        self, dim: int, heads: int, feed_forward: int, latent: int, *, dropout: float
    ) -> None:
        super().__init__(dim, heads, feed_forward, dropout=dropout)
        self.from_state = Dense(dim, dim)
        self.from_latent = Dense(latent, dim, bias=False)
        self.latent_norm = nn.LayerNorm(dim)

    def forward(  # type: ignore[override]
        self, states: Tensor, latent: Tensor, *, cache: Any, layer: int
    ) -> Tensor:
        """Return the states after the block, (batch, seq, dim), with v, (batch, latent)."""

        def attend(inputs: Tensor) -> Tensor:
            return self.attention(inputs, mask=None, is_causal=True, cache=cache, layer=layer)

        def mix(inputs: Tensor) -> Tensor:
            return self.from_state(inputs) + self.from_latent(latent)[:, None]

        states = self._add(states, attend, self.attention_norm)
        states = self._add(states, mix, self.latent_norm)
        return self._add(states, self._dense, self.dense_norm)


class TransformerDecoder(nn.Module):
    """Causal transformer that writes a sentence from v, which enters at `places`.

    `starts` tokens after the vocabulary, such as one per language, start sentences and are never
    predicted.
    """

    has_cache = True

    def __init__(
        self,
        vocab: int,
        dim: int,
        latent: int,
        *,
        layers: int,
        heads: int,
        feed_forward: int,
        dropout: float,
        places: tuple[str, ...],
        starts: int = 0,
    ) -> None:
        super().__init__()
        self.dropout, self.latent = dropout, latent
        self.table = nn.Embedding(vocab + starts, dim)
        self.word = Dense(dim + latent, dim) if "word" in places else None
        self.first = Dense(latent, dim) if "hidden" in places else None
        self.blocks = nn.ModuleList(
            LatentBlock(dim, heads, feed_forward, latent, dropout=dropout)
            if "attention" in places
            else TransformerBlock(dim, heads, feed_forward, dropout=dropout)
            for _ in range(layers)
        )
        self.scorer = Scorer(vocab, dim, latent if "logit" in places else 0)

    def forward(self, ids: Tensor, latent: Tensor, cache: Any = None) -> Tensor:
        """Return the states, (batch, seq, dim). `cache` has earlier keys and values."""
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
    """LSTM that writes a sentence from v (thesis, 5.9.1), which enters at `places`."""

    has_cache = False  # each generation step reads the whole prefix again

    def __init__(
        self, vocab: int, dim: int, latent: int, *, dropout: float, places: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.table = nn.Embedding(vocab, dim)
        self.has_word, self.has_hidden = "word" in places, "hidden" in places
        self.lstm = nn.LSTM(dim + latent * self.has_word, dim, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad_(False)
        # As in the thesis, v is the initial state if the sizes agree.
        self.first = Dense(latent, dim) if self.has_hidden and latent != dim else None
        self.context = Dense(dim + latent, dim) if "attention" in places else None
        self.scorer = Scorer(vocab, dim, latent if "logit" in places else 0)

    def forward(self, ids: Tensor, latent: Tensor, cache: Any = None) -> Tensor:
        """Return the states, (batch, seq, dim). `cache` must be None."""
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
