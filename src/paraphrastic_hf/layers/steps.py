"""Recurrences step after step, with their gradients: the RNN and the LSTM.

Autograd through a loop over the steps records every small operation, and multiplies for the weights
of the recurrence at each step. Here the way back is written out: at a step it is the derivative of
the cell and one product, and the gradient of the weights is one product over all tokens at the end.
There is no second derivative.

Packed rows (`layers/packing.py`) in, packed states out; texts start from zero states. Under
autocast products are in the narrow type and all else in that of the weights.
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

# gradients in place: of what goes into a function, from that of what comes out, and this
through_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
through_tanh = torch.ops.aten.tanh_backward.grad_input


def rnn_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    activation: str,
    places: Tensor | None = None,
) -> Tensor:
    """States h_t = f(projected_t + W_h h_{t-1}), (tokens, hidden).

    Args:
        projected: W_x x + b, (tokens, hidden), packed; or, with `places`, once for tokens that are
            alike, (distinct, hidden), in any order.
        sizes: Texts at each step.
        weight_h: (hidden, hidden).
        activation: f by name.
        places: (tokens,) row of `projected` of each token, packed.
    """
    return _RNN.apply(projected, places, sizes, weight_h, activation)  # type: ignore[no-untyped-call]


def lstm_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    peepholes: Tensor | None = None,
    places: Tensor | None = None,
) -> Tensor:
    """States of the equations of `PeepholeLSTM` (`layers/recurrent.py`), (tokens, hidden).

    Args:
        projected: W_x x + b of the gates i, f, c, o one beside the other, (tokens, 4 hidden),
            packed; (tokens, 3 hidden) for no output gate. With `places` once for tokens that are
            alike, (distinct, 4 or 3 hidden), in any order.
        sizes: Texts at each step.
        weight_h: (4 or 3 hidden, hidden).
        peepholes: (3 or 2, hidden) of i, f, o.
        places: (tokens,) row of `projected` of each token, packed.
    """
    keeps = torch.is_grad_enabled()  # which `forward` cannot ask
    given = (projected, places, sizes, weight_h, peepholes, keeps)
    return _LSTM.apply(*given)  # type: ignore[no-untyped-call]


def weight_gradient(states: Tensor, deltas: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """Gradient of a recurrence's weights: every step's deltas times the states before it.

    Args:
        states: (tokens, hidden), packed.
        deltas: Gradients of W s_{t-1}, (tokens, rows of W), packed.
        sizes: Texts at each step.
        dtype: Type to multiply in.

    Returns:
        (rows of W, hidden).
    """
    parts = [state[:count] for state, count in zip(states.split(sizes), sizes[1:], strict=False)]
    before = torch.cat(parts) if parts else states[:0]
    return product(before.to(dtype).T, deltas[sizes[0] :].to(dtype).T).T


def _steps(projected: Tensor, places: Tensor | None, sizes: list[int]) -> Iterator[Tensor]:
    """Rows of `projected` at each step; they are never copied all at once."""
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
