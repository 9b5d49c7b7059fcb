"""Gated recurrent averaging networks, GRAN to GRAN-5 (Wieting and Gimpel, 2017, section 3.1)."""

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.layers.recurrent import PeepholeLSTM

VARIANTS = (0, 1, 2, 3, 4, 5)
UNGATED = 0


class GatedRecurrence(nn.Module):
    """Gate token vectors x_t with the states h_t of a peephole LSTM.

    The result is a vector a_t per token. Each gate g is sigmoid(W_x x_t + W_h h_t + b):

        GRAN:    a_t = x_t * g                            (eq. 1)
        GRAN-2:  a_t = h_t * g
        GRAN-3:  a_t = x_t * g1 + a_{t-1} * g2
        GRAN-4:  as GRAN-3, with W_a a_{t-1} in both gates
        GRAN-5:  a_t = x_t * g1 + h_t * g2

    `variant` 0 has no gate (footnote 2): a_t = f(W_x x_t + W_h h_t + b), where the `activation` f
    is tanh or ReLU.
    """

    def __init__(self, size: int, variant: int, activation: str = "tanh") -> None:
        super().__init__()
        self.variant = variant
        self.activation = ACTIVATIONS[activation]
        self.lstm = PeepholeLSTM(size, size)
        rows = (1 if variant <= 2 else 2) * size
        self.weight_x = nn.Parameter(torch.empty(rows, size))
        self.weight_h = nn.Parameter(torch.empty(rows, size))
        self.weight_a = nn.Parameter(torch.empty(rows, size)) if variant == 4 else None
        self.bias = nn.Parameter(torch.empty(rows))

    def forward(self, rows: Tensor, sizes: list[int]) -> Tensor:
        """Return the gated vectors a, (tokens, size), of packed token vectors x."""
        return self.states_and_gates(rows, sizes)[0]

    def states_and_gates(self, rows: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
        """Return the vectors a, (tokens, size), and gates from 0 to 1.

        Gates are (tokens, size) for one gate, (tokens, 2 size) for two, and (tokens, 0) for none.
        """
        hidden = self.lstm(rows, sizes)
        gates = linear(rows, self.weight_x, self.bias) + linear(hidden, self.weight_h)
        if self.variant == UNGATED:
            return self.activation(gates), gates[:, :0]
        if self.variant in (3, 4):
            return self._run(rows, gates, sizes)
        gates = torch.sigmoid(gates)
        if self.variant == 1:
            return rows * gates, gates
        if self.variant == 2:
            return hidden * gates, gates
        of_input, of_hidden = gates.chunk(2, 1)
        return rows * of_input + hidden * of_hidden, gates

    def _run(self, rows: Tensor, gates: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
        """Return a_t and the gates of GRAN-3 and GRAN-4, whose a_t depends on a_{t-1}."""
        before, states, opened = rows.new_zeros(sizes[0], rows.shape[1]), [], []
        for inputs, step in zip(rows.split(sizes), gates.split(sizes), strict=True):
            before = before[: len(inputs)]
            if self.weight_a is not None:
                step = step + linear(before, self.weight_a)
            gate = torch.sigmoid(step).to(rows.dtype)
            of_input, of_state = gate.chunk(2, 1)
            before = torch.addcmul(before * of_state, inputs, of_input)
            states.append(before)
            opened.append(gate)
        return torch.cat(states), torch.cat(opened)

    def initialize(self, std: float) -> None:
        """Draw the gates' weights from N(0, std^2), set their bias to 0, and keep the LSTM."""
        for weight in (self.weight_x, self.weight_h, self.weight_a):
            if weight is not None:
                nn.init.normal_(weight, std=std)
        nn.init.zeros_(self.bias)
