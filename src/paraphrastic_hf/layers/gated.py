"""Gated recurrent averaging networks, GRAN to GRAN-5 (Wieting and Gimpel, 2017, section 3.1)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.product import linear, product
from paraphrastic_hf.layers.recurrent import PeepholeLSTM, through_sigmoid, weight_gradient

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
        """Return gated vectors and gates. In GRAN-3 and GRAN-4 the gates are detached.

        Returns:
            Vectors a, (tokens, size), and gates from 0 to 1: (tokens, size) for one gate,
            (tokens, 2 size) for two, (tokens, 0) for none.
        """
        hidden = self.lstm(rows, sizes)
        gates = linear(rows, self.weight_x, self.bias) + linear(hidden, self.weight_h)
        if self.variant == UNGATED:
            return self.activation(gates), gates[:, :0]
        if self.variant in (3, 4):
            return _Running.apply(rows, gates, sizes, self.weight_a)  # type: ignore[no-untyped-call]
        gates = torch.sigmoid(gates)
        if self.variant == 1:
            return rows * gates, gates
        if self.variant == 2:
            return hidden * gates, gates
        of_input, of_hidden = gates.chunk(2, 1)
        return rows * of_input + hidden * of_hidden, gates

    def initialize(self, std: float) -> None:
        """Draw the gates' weights from N(0, std^2), set their bias to 0, and keep the LSTM."""
        for weight in (self.weight_x, self.weight_h, self.weight_a):
            if weight is not None:
                nn.init.normal_(weight, std=std)
        nn.init.zeros_(self.bias)


class _Running(torch.autograd.Function):
    """GRAN-3 and GRAN-4, whose a_t depends on a_{t-1}, with a hand-written gradient."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, gates: Tensor, sizes: list[int], weight_a: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        weight = None if weight_a is None else weight_a.to(gates.dtype)
        states = torch.empty_like(rows)
        opened = torch.empty_like(gates, dtype=rows.dtype)
        before = rows.new_zeros(sizes[0], rows.shape[1])
        parts = (tensor.split(sizes) for tensor in (rows, gates, opened, states))
        for inputs, step, gate, state in zip(*parts, strict=True):
            before = before[: len(inputs)]
            if weight is not None:
                step = product(before.to(weight.dtype), weight, step)
            of_input, of_state = gate.copy_(torch.sigmoid(step)).chunk(2, 1)
            before = torch.mul(before, of_state, out=state).addcmul_(inputs, of_input)
        ctx.sizes = sizes
        ctx.save_for_backward(rows, opened, weight, states)
        ctx.mark_non_differentiable(opened)
        return states, opened

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad: Tensor, _: Tensor | None
    ) -> tuple[Tensor, Tensor, None, Tensor | None]:
        rows, opened, weight, states = ctx.saved_tensors
        sizes = ctx.sizes
        of_rows, deltas, of_states = torch.empty_like(rows), torch.empty_like(opened), grad.clone()
        tensors = (rows, opened, states, of_rows, deltas, of_states)
        parts = list(zip(*(tensor.split(sizes) for tensor in tensors), strict=True))
        carried = grad[:0]
        for t, (inputs, gate, state, of_input, delta, of_state) in reversed(list(enumerate(parts))):
            before = parts[t - 1][2][: len(state)] if t else torch.zeros_like(state)
            of_state[: len(carried)] += carried
            of_first, of_second = delta.chunk(2, 1)
            torch.mul(of_state, inputs, out=of_first)
            torch.mul(of_state, before, out=of_second)
            through_sigmoid(delta, gate, grad_input=delta)
            first, second = gate.chunk(2, 1)
            torch.mul(of_state, first, out=of_input)
            carried = of_state * second
            if weight is not None:
                carried += product(delta.to(weight.dtype), weight.T)
        of_weight = None if weight is None else weight_gradient(states, deltas, sizes, weight.dtype)
        return of_rows, deltas, None, of_weight
