"""Encoders that read a sentence into the states that latent variables are made of (thesis, 5.5, 5.9
and 5.12): a transformer, one that reads for several variables, an LSTM in both directions, or the
tokens' vectors themselves.

All take ids text after text with the padding of the texts, and return a state for each token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.dropout import dropout
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.packing import Packing
from paraphrastic_hf.layers.padding import Padding
from paraphrastic_hf.layers.recurrent import LSTM
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions


class TransformerEncoder(nn.Module):
    """Transformer blocks over a table of its own.

    Args:
        vocab: Number of tokens.
        dim: Number of dimensions of a token's vector and state.
        layers: Number of blocks.
        heads: Number of attention heads.
        feed_forward: Number of units of the feed-forward layer.
        dropout: Probability that a number is zeroed in training, 0 to below 1.

    Example:
        >>> encoder = TransformerEncoder(10, 8, layers=1, heads=2, feed_forward=16, dropout=0.0)
        >>> encoder(torch.tensor([1, 2, 3]), Padding.of(torch.tensor([1, 0, 2]))).shape
        torch.Size([3, 8])
    """

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
        """Return the state of each token, (tokens, dim).

        Args:
            ids: Token ids, (tokens,), text after text.
            padding: Where the tokens stand; a text may have none.
        """
        states = dropout(_place(self.table, ids, padding), self.dropout, self.training)
        mask = padding.mask
        for block in self.blocks:
            states = block(states, mask=mask)
        return padding.flat(states)


class SharedEncoder(nn.Module):
    """One transformer that infers the meaning of a sentence and what is of its language (5.12).

    Two vectors beside those of the tokens say which is wanted, `sem` or `lang`, and in the second
    case one more says of which language; the blocks at the top are two, one for each. The thesis
    appends these vectors. They have no position here, so it does not matter where they stand.

    Args:
        vocab: Number of tokens.
        dim: Number of dimensions of a token's vector and state.
        languages: Number of languages; 0 for an encoder that infers the meaning alone.
        layers: Number of blocks that a sentence passes, the top one among them.
        heads: Number of attention heads.
        feed_forward: Number of units of the feed-forward layer.
        dropout: Probability that a number is zeroed in training, 0 to below 1.

    Example:
        >>> sizes = {"layers": 2, "heads": 2, "feed_forward": 16, "dropout": 0.0}
        >>> encoder = SharedEncoder(10, 8, 3, **sizes)
        >>> encoder(torch.tensor([1, 2, 3]), Padding.of(torch.tensor([1, 0, 2])), language=2).shape
        torch.Size([3, 8])
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

        Args:
            ids: Token ids, (tokens,), text after text.
            padding: Where the tokens stand; a text may have none.
            language: Number of the language whose own part is wanted; the meaning if None.

        Example:
            >>> sizes = {"layers": 1, "heads": 2, "feed_forward": 16, "dropout": 0.0}
            >>> encoder = SharedEncoder(10, 8, 3, **sizes)
            >>> encoder(torch.tensor([1, 2, 3]), Padding.of(torch.tensor([1, 0, 2]))).shape
            torch.Size([3, 8])
        """
        states = _place(self.table, ids, padding)
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
    """The tokens' vectors as they stand in a table: the mean of these states points where the
    average of SP does (5.1.1), and a decoder writes from it. No paper has it.

    Args:
        vocab: Number of tokens.
        dim: Number of dimensions of a token's vector.
        end: Id of the end mark, from 0 to below `vocab`, which counts for nothing, as SP has none;
            None if there is none.

    Example:
        >>> encoder = AverageEncoder(10, 8, end=3)
        >>> encoder(torch.tensor([1, 2, 3]), Padding.of(torch.tensor([1, 0, 2])))[2].any()
        tensor(False)
    """

    languages = None  # it has no part of its own for any, as `SharedEncoder` has

    def __init__(self, vocab: int, dim: int, *, end: int | None) -> None:
        super().__init__()
        self.end = end
        self.table = nn.Embedding(vocab, dim)

    def forward(self, ids: Tensor, padding: Padding, language: int | None = None) -> Tensor:
        """Return the state of each token, (tokens, dim).

        Args:
            ids: Token ids, (tokens,), text after text.
            padding: Where the tokens stand; a text may have none.
            language: Number of the language whose own part is wanted; all have the same states.
        """
        states = rows_of(self.table, ids) * self.table.embedding_dim**0.5
        return states if self.end is None else states * (ids != self.end)[:, None]


class LstmEncoder(nn.Module):
    """An LSTM in both directions, whose states stand side by side, over a table of its own.

    Args:
        vocab: Number of tokens.
        dim: Number of dimensions of a token's vector and of its state, half of them of each
            direction; even.
        dropout: Probability that a number is zeroed in training, 0 to below 1.
    """

    def __init__(self, vocab: int, dim: int, *, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.table = nn.Embedding(vocab, dim)
        self.forth, self.back = LSTM(dim, dim // 2), LSTM(dim, dim // 2)

    def forward(self, ids: Tensor, padding: Padding) -> Tensor:
        """Return the state of each token, (tokens, dim).

        Args:
            ids: Token ids, (tokens,), text after text.
            padding: Where the tokens stand; a text may have none.
        """
        rows = dropout(rows_of(self.table, ids), self.dropout, self.training)
        states = []
        for lstm, backward in ((self.forth, False), (self.back, True)):
            packing = Packing.of(padding.lengths, backward=backward)
            states.append(packing.unpack(lstm(packing.pack(rows), packing.sizes)))
        return dropout(torch.cat(states, 1), self.dropout, self.training)


def _place(table: nn.Embedding, ids: Tensor, padding: Padding) -> Tensor:
    """Vectors of tokens at their positions, (batch, seq, dim)."""
    dim = table.embedding_dim
    positions = torch.arange(padding.longest, device=ids.device)
    rows = rows_of(table, ids) * dim**0.5
    return padding.pad(rows) + sinusoidal_positions(positions, dim).to(rows)
