"""Encoders that read a sentence into the states that latent variables are made of (thesis, 5.5 and
5.9): a transformer, or an LSTM in both directions.

Both take ids text after text with the lengths of the texts, and return a state for each token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.dropout import dropout
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.layers.packing import Packing, padded_from_flat
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
        >>> encoder(torch.tensor([1, 2, 3]), torch.tensor([1, 0, 2])).shape
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

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the state of each token, (tokens, dim).

        Args:
            ids: Token ids, (tokens,), text after text.
            lengths: Number of tokens of each text, (batch,); 0 is allowed.
        """
        dim = self.table.embedding_dim
        longest = int(lengths.max()) if len(lengths) else 0
        places = torch.arange(longest, device=ids.device)
        is_token = places < lengths[:, None]  # (batch, seq)
        positions = sinusoidal_positions(places, dim)
        rows = rows_of(self.table, ids) * dim**0.5
        states = padded_from_flat(rows, is_token) + positions.to(rows)
        states = dropout(states, self.dropout, self.training)
        mask = None if bool(is_token.all()) else is_token
        for block in self.blocks:
            states = block(states, mask=mask)
        return states[is_token]


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

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the state of each token, (tokens, dim).

        Args:
            ids: Token ids, (tokens,), text after text.
            lengths: Number of tokens of each text, (batch,); 0 is allowed.
        """
        rows = dropout(rows_of(self.table, ids), self.dropout, self.training)
        states = []
        for lstm, backward in ((self.forth, False), (self.back, True)):
            packing = Packing.of(lengths, backward=backward)
            states.append(packing.unpack(lstm(packing.pack(rows), packing.sizes)))
        return dropout(torch.cat(states, 1), self.dropout, self.training)
