"""Transformer blocks and positions (Vaswani et al., 2017; thesis, 5.4)."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.attention import Attention
from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense

LONGEST_WAVE = 10_000.0


def sinusoidal_positions(positions: Tensor, dim: int) -> Tensor:
    """Compute position vectors: sines, then cosines, of wavelengths 2 pi to 10,000 * 2 pi tokens.

    `positions` are integers of any shape, `dim` is even. The result is (*positions, dim) float32.
    """
    half = dim // 2
    steps = torch.arange(half, device=positions.device, dtype=torch.float32)
    frequency = torch.exp(steps * (-math.log(LONGEST_WAVE) / max(1, half - 1)))
    angles = positions.unsqueeze(-1).float() * frequency
    return torch.cat([angles.sin(), angles.cos()], -1)


class TransformerBlock(nn.Module):
    """Transformer block: self-attention and a feed-forward layer (ReLU).

    Each part is a residual branch, whose sum with its input is normalized, as in the paper. With
    `norm_first` the input of each branch is normalized instead, for stable training.
    """

    def __init__(
        self, dim: int, heads: int, feed_forward: int, *, dropout: float, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.dropout, self.norm_first = dropout, norm_first
        self.attention, self.attention_norm = Attention(dim, heads), nn.LayerNorm(dim)
        self.widen, self.narrow = Dense(dim, feed_forward), Dense(feed_forward, dim)
        self.dense_norm = nn.LayerNorm(dim)

    def forward(
        self,
        states: Tensor,
        *,
        mask: Tensor | None = None,
        is_causal: bool = False,
        cache: Any = None,
        layer: int = 0,
    ) -> Tensor:
        """Return the states after the block, (batch, seq, dim)."""

        def attend(inputs: Tensor) -> Tensor:
            return self.attention(inputs, mask=mask, is_causal=is_causal, cache=cache, layer=layer)

        states = self._add(states, attend, self.attention_norm)
        return self._add(states, self._dense, self.dense_norm)

    def _dense(self, states: Tensor) -> Tensor:
        return self.narrow(torch.relu(self.widen(states)))

    def _add(self, states: Tensor, part: Any, norm: Any) -> Tensor:
        if self.norm_first:
            return states + dropout(part(norm(states)), self.dropout, self.training)
        return norm(states + dropout(part(states), self.dropout, self.training))
