"""Recurrences step after step, with their gradients: the RNN and the LSTM (thesis, 3.1.2).

Autograd through a loop over the steps records every small operation, and multiplies for the weights
of the recurrence at each step. Here the gradient is written out: each step back is the derivative
of the cell and one product, and the gradient of the weights is one product over all tokens at the
end. There is no second derivative.

The vectors that go in and the states that come out are packed (`layers/packing.py`); texts start
from zero states. Under autocast the products are computed in the narrow type, and everything else
in the type of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from paraphrastic_hf.layers.activation import ACTIVATIONS
from paraphrastic_hf.layers.embedding import add_by_row
from paraphrastic_hf.layers.product import product

# f(gradient of the output, output) -> gradient of the input, which `grad_input` lets be in place
through_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
through_tanh = torch.ops.aten.tanh_backward.grad_input


def rnn_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    activation: str,
    places: Tensor | None = None,
) -> Tensor:
    """Compute the states h_t = f(projected_t + W_h h_{t-1}), (tokens, hidden), packed.

    Args:
        projected: W_x x + b, (tokens, hidden), packed. With `places`, one vector for all tokens
            that are alike, (distinct, hidden), in any order.
        sizes: Number of texts that have a token at each step.
        weight_h: W_h, (hidden, hidden).
        activation: The name of f in `ACTIVATIONS`.
        places: Which vector of `projected` each token has, (tokens,), packed.

    Example:
        >>> rnn_steps(torch.ones(3, 1), [2, 1], torch.ones(1, 1), "linear").tolist()
        [[1.0], [1.0], [2.0]]
    """
    return _RNN.apply(projected, places, sizes, weight_h, activation)  # type: ignore[no-untyped-call]


def lstm_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    peepholes: Tensor | None = None,
    places: Tensor | None = None,
) -> Tensor:
    """Compute the states of `PeepholeLSTM` (`layers/recurrent.py`), (tokens, hidden), packed.

    Args:
        projected: W_x x + b for i, f, c and o, one beside the other, (tokens, 4 hidden), packed;
            (tokens, 3 hidden) where there is no output gate o. With `places`, one vector for all
            tokens that are alike, (distinct, 4 or 3 hidden), in any order.
        sizes: Number of texts that have a token at each step.
        weight_h: W_h for the same, one below the other, (4 or 3 hidden, hidden).
        peepholes: The weights w_c of i, f and o, (3 or 2, hidden); none if None.
        places: Which vector of `projected` each token has, (tokens,), packed.

    Example:
        >>> projected, weight_h = torch.zeros(3, 4), torch.ones(4, 1)  # hidden size 1
        >>> lstm_steps(projected, [2, 1], weight_h).tolist()
        [[0.0], [0.0], [0.0]]
    """
    keeps = torch.is_grad_enabled()  # asked here, since it is always False within `forward`
    given = (projected, places, sizes, weight_h, peepholes, keeps)
    return _LSTM.apply(*given)  # type: ignore[no-untyped-call]


def weight_gradient(states: Tensor, deltas: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """Return the gradient of W, (output, hidden), in a recurrence that adds W s_{t-1} at step t.

    Args:
        states: The states s, (tokens, hidden), packed.
        deltas: The gradient of W s_{t-1} for each token, (tokens, output), packed.
        sizes: Number of texts that have a token at each step.
        dtype: The type to multiply in.

    Example:
        >>> states, deltas = torch.tensor([[2.0], [3.0]]), torch.tensor([[5.0], [7.0]])
        >>> weight_gradient(states, deltas, [1, 1], torch.float32)  # 7 of step 2 times 2 of step 1
        tensor([[14.]])
    """
    parts = [state[:count] for state, count in zip(states.split(sizes), sizes[1:], strict=False)]
    before = torch.cat(parts) if parts else states[:0]
    return product(before.to(dtype).T, deltas[sizes[0] :].to(dtype).T).T


def _steps(projected: Tensor, places: Tensor | None, sizes: list[int]) -> Iterator[Tensor]:
    """The vectors of `projected` for each step in turn; they are never all copied at once."""
    if places is None:
        yield from projected.split(sizes)
    else:
        yield from (projected.index_select(0, step) for step in places.split(sizes))


def _of_projected(deltas: Tensor, places: Tensor | None, count: int) -> Tensor:
    return deltas if places is None else add_by_row(deltas, places.unsqueeze(1), count)


class _RNN(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        places: Tensor | None,
        sizes: list[int],
        weight_h: Tensor,
        activation: str,
    ) -> Tensor:
        states = weight_h.new_empty(sum(sizes), len(weight_h))
        weight = weight_h.to(projected.dtype)
        hidden = states.new_zeros(sizes[0], states.shape[1])
        for step, state in zip(_steps(projected, places, sizes), states.split(sizes), strict=True):
            total = product(hidden[: len(step)].to(weight.dtype), weight, step)
            hidden = state.copy_(ACTIVATIONS[activation](total.to(state.dtype)))
        ctx.sizes, ctx.activation, ctx.count = sizes, activation, len(projected)
        ctx.save_for_backward(weight, places, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, Tensor, None]:
        weight, places, states = ctx.saved_tensors
        deltas = grad.clone()
        after = deltas[:0]
        parts = zip(states.split(ctx.sizes), deltas.split(ctx.sizes), strict=True)
        for state, delta in reversed(list(parts)):
            delta[: len(after)] += product(after.to(weight.dtype), weight.T)
            if ctx.activation == "tanh":
                through_tanh(delta, state, grad_input=delta)
            elif ctx.activation == "relu":
                delta *= state > 0
            after = delta
        of_weight = weight_gradient(states, deltas, ctx.sizes, weight.dtype)
        return _of_projected(deltas, places, ctx.count), None, None, of_weight, None


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        places: Tensor | None,
        sizes: list[int],
        weight_h: Tensor,
        peepholes: Tensor | None,
        keeps: bool,
    ) -> Tensor:
        size = weight_h.shape[1]
        weight = weight_h.to(projected.dtype)
        states = weight_h.new_empty(sum(sizes), size)
        hidden = cell = weight_h.new_zeros(sizes[0], size)
        activations = []
        for step, state in zip(_steps(projected, places, sizes), states.split(sizes), strict=True):
            before = cell[: len(step)]
            gates = product(hidden[: len(step)].to(weight.dtype), weight, step).to(states.dtype)
            enter, forget, new, *leaves = gates.split(size, 1)
            if peepholes is not None:
                enter.addcmul_(peepholes[0], before)
                forget.addcmul_(peepholes[1], before)
            gates[:, : 2 * size].sigmoid_()
            new.tanh_()
            cell = torch.mul(forget, before).addcmul_(enter, new)
            shown = torch.tanh(cell)
            for leave in leaves:  # the output gate, where there is one
                if peepholes is not None:
                    leave.addcmul_(peepholes[2], cell)
                leave.sigmoid_()
            hidden = torch.mul(leaves[0], shown, out=state) if leaves else state.copy_(shown)
            if keeps:
                activations += [gates, cell, shown]
        ctx.sizes, ctx.count = sizes, len(projected)
        ctx.save_for_backward(weight, places, peepholes, states, *activations)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, places, peepholes, states, *activations = ctx.saved_tensors
        sizes, size = ctx.sizes, weight.shape[1]
        deltas = grad.new_empty(len(grad), len(weight))
        of_peepholes = grad.new_zeros(3, size)  # i, f, o
        of_states = grad.clone()
        by_step = list(zip(deltas.split(sizes), of_states.split(sizes), strict=True))
        after, of_cell_after = deltas[:0], grad[:0]
        for t in reversed(range(len(sizes))):
            gates, cell, shown = activations[3 * t : 3 * t + 3]
            before = activations[3 * t - 2][: len(cell)] if t else torch.zeros_like(cell)
            enter, forget, new, *leaves = gates.split(size, 1)
            delta, of_state = by_step[t]
            of_enter, of_forget, of_new, *of_leaves = delta.split(size, 1)
            of_state[: len(after)] += product(after.to(weight.dtype), weight.T)
            for leave, of_leave in zip(leaves, of_leaves, strict=True):
                torch.mul(of_state, shown, out=of_leave)
                through_sigmoid(of_leave, leave, grad_input=of_leave)
                of_state *= leave
            of_cell = through_tanh(of_state, shown, grad_input=of_state)
            of_cell[: len(after)] += of_cell_after
            if peepholes is not None and of_leaves:
                of_cell.addcmul_(of_leaves[0], peepholes[2])
                of_peepholes[2] += (of_leaves[0] * cell).sum(0)
            torch.mul(of_cell, new, out=of_enter)
            torch.mul(of_cell, before, out=of_forget)
            torch.mul(of_cell, enter, out=of_new)
            both = delta[:, : 2 * size]
            through_sigmoid(both, gates[:, : 2 * size], grad_input=both)
            through_tanh(of_new, new, grad_input=of_new)
            of_cell *= forget
            if peepholes is not None:
                of_cell.addcmul_(of_enter, peepholes[0]).addcmul_(of_forget, peepholes[1])
                of_peepholes[0] += (of_enter * before).sum(0)
                of_peepholes[1] += (of_forget * before).sum(0)
            after, of_cell_after = delta, of_cell
        of_weight = weight_gradient(states, deltas, sizes, weight.dtype)
        of_projected = _of_projected(deltas, places, ctx.count)
        if peepholes is None:
            return of_projected, None, None, of_weight, None, None
        return of_projected, None, None, of_weight, of_peepholes[: len(peepholes)], None
