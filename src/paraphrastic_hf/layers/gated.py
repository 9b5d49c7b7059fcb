"""The gated recurrent averaging network, GRAN to GRAN-5 (Wieting and Gimpel, 2017, section 3.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.layers.recurrent import PeepholeLSTM

VARIANTS = (1, 2, 3, 4, 5)


class GatedRecurrence(nn.Module):
    """Gated token vectors a_t from token vectors x_t; h_t are the states of a peephole LSTM.

    With gates g = sigmoid(W_x x_t + W_h h_t + b), one or two of them:

        GRAN:    a_t = x_t * g                            (eq. 1)
        GRAN-2:  a_t = h_t * g
        GRAN-3:  a_t = x_t * g1 + a_{t-1} * g2
        GRAN-4:  as GRAN-3, with W_a a_{t-1} in both gates
        GRAN-5:  a_t = x_t * g1 + h_t * g2

    Args:
        size: Numbers in x_t, h_t and a_t, which the products make equal.
        variant: 1 to 5.
    """

    def __init__(self, size: int, variant: int) -> None:
        super().__init__()
        self.variant = variant
        self.lstm = PeepholeLSTM(size, size)
        rows = (1 if variant <= 2 else 2) * size
        self.weight_x = nn.Parameter(torch.empty(rows, size))
        self.weight_h = nn.Parameter(torch.empty(rows, size))
        self.weight_a = nn.Parameter(torch.empty(rows, size)) if variant == 4 else None
        self.bias = nn.Parameter(torch.empty(rows))

    def forward(self, rows: Tensor, sizes: list[int]) -> Tensor:
        """a, (tokens, size), from packed rows x, (tokens, size)."""
        return self.states_and_gates(rows, sizes)[0]

    def states_and_gates(self, rows: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
        """a, (tokens, size), and the gates, (tokens, size) or for two (tokens, 2 size), 0 to 1."""
        hidden = self.lstm(rows, sizes)
        gates = F.linear(rows, self.weight_x, self.bias) + F.linear(hidden, self.weight_h)
        if self.variant in (3, 4):
            return self._running(rows, gates, sizes)
        gates = torch.sigmoid(gates)
        if self.variant == 1:
            return rows * gates, gates
        if self.variant == 2:
            return hidden * gates, gates
        of_input, of_hidden = gates.chunk(2, 1)
        return rows * of_input + hidden * of_hidden, gates

    def _running(self, rows: Tensor, gates: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
        """GRAN-3 and GRAN-4, whose a_t builds on a_{t-1}."""
        state = rows.new_zeros(sizes[0], rows.shape[1])
        states, opened = [], []
        for inputs, step in zip(rows.split(sizes), gates.split(sizes), strict=True):
            state = state[: len(inputs)]
            if self.weight_a is not None:
                step = torch.addmm(step, state, self.weight_a.T)
            step = torch.sigmoid(step)
            of_input, of_state = step.chunk(2, 1)
            state = inputs * of_input + state * of_state
            states.append(state)
            opened.append(step)
        return torch.cat(states), torch.cat(opened)

    def initialize(self, std: float) -> None:
        """Normal gate weights, bias 0; the LSTM's are those of a cell."""
        for weight in (self.weight_x, self.weight_h, self.weight_a):
            if weight is not None:
                nn.init.normal_(weight, std=std)
        nn.init.zeros_(self.bias)
