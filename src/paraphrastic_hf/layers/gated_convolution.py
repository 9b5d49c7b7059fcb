"""Gated convolutions and the attention of a convolutional decoder (Dauphin et al., 2017; Gehring et
al., 2017; thesis, 7.3).

Each sum of two terms is scaled by sqrt(1/2), which preserves the variance of independent terms.
Unlike in Gehring et al., weights are not normalized.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.attention import attend
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense

HALF = 0.5**0.5


class Window(Dense):
    """Dense layer over a window of tokens.

    Its initial weights are larger because the gate halves the output (Gehring et al., 3.5).
    """


class GatedConvolution(nn.Module):
    """Compute sqrt(1/2) (x + A * sigmoid(B)), where [A; B] is a linear map of a window of x.

    The window of a token is centered on it (`width` must be odd), or ends with it if causal. Text
    ends are zero-padded. `dropout` zeroes values of the window.
    """

    def __init__(self, dim: int, width: int, *, dropout: float, is_causal: bool = False) -> None:
        super().__init__()
        self.width, self.dropout, self.is_causal = width, dropout, is_causal
        self.window = Window(width * dim, 2 * dim)

    def forward(self, states: Tensor, is_token: Tensor | None = None) -> Tensor:
        """Return sqrt(1/2) (x + A * sigmoid(B)), (batch, seq, dim), of states x.

        Windows read padding, where `is_token`, (batch, seq), is False, as zeros.
        """
        return (states + self.gated(states, is_token)) * HALF

    def gated(
        self, states: Tensor, is_token: Tensor | None = None, *, cache: Any = None, layer: int = 0
    ) -> Tensor:
        """Return A * sigmoid(B), (batch, seq, dim).

        A causal layer can read x of earlier generation steps from a cache: `cache.update(keys,
        values, layer)` appends the new x and returns all x.
        """
        seq, reach = states.shape[1], self.width - 1
        inputs = dropout(states, self.dropout, self.training)
        if is_token is not None:
            inputs = inputs * is_token.unsqueeze(-1)
        if cache is not None:
            inputs = cache.update(inputs[:, None], inputs[:, None, :, :0], layer)[0][:, 0]
            inputs = inputs[:, -(seq + reach) :]
        before = seq + reach - inputs.shape[1] if self.is_causal else reach // 2
        inputs = F.pad(inputs, (0, 0, before, 0 if self.is_causal else reach - before))
        shifted = [inputs[:, place : place + seq] for place in range(self.width)]
        windows = torch.cat(shifted, -1).flatten(0, 1)  # (batch * seq, width * dim)
        return F.glu(self.window(windows), -1).view_as(states)


class SummaryAttention(nn.Module):
    """Attention of a decoder's states to the source (Gehring et al., 2017).

        d = sqrt(1/2) (W h + b + e), for a state h and its token's embedding e
        h' = sqrt(1/2) (W' (sqrt(n) * sum of softmax(d . keys) values) + b' + h)

    n is the number of source tokens. Keys are the encoder's outputs. Values are the sums of the
    encoder's outputs and input embeddings. h has `dim` dimensions. e, keys and values have
    `key_dim`.
    """

    def __init__(self, dim: int, key_dim: int) -> None:
        super().__init__()
        self.query = Dense(dim, key_dim)
        self.output = Dense(key_dim, dim)

    def forward(
        self, states: Tensor, embedded: Tensor, keys: Tensor, values: Tensor, is_token: Tensor
    ) -> Tensor:
        """Return h' of each token, (batch, seq, dim). For an empty source, the softmax sum is 0.

        `states` are h, (batch, seq, dim), and `embedded` e, (batch, seq, key_dim). Keys and values
        of the source are (batch, source, key_dim). `is_token` is False for its padding, (batch,
        source).
        """
        queries = (self.query(states) + embedded) * HALF
        mask = is_token[:, None, None].bool()
        of_one_head = (part[:, None] for part in (queries, keys, values))
        gathered = attend(*of_one_head, mask=mask, scale=1.0)[:, 0]
        count = is_token.sum(1).to(states.dtype)[:, None, None]
        return (self.output(gathered * count.sqrt()) + states) * HALF
