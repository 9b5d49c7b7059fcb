"""Recurrences step after step, each with its gradient: of a plain RNN, of an LSTM.

Autograd through a loop over the steps records every small operation, and multiplies for the weights
of the recurrence at each step. Here the way back is written out: at a step it is the derivative of
the cell and one product, and the gradients of weights are one product over all tokens at the end.

Packed rows (`layers/packing.py`) in, packed states out; texts start from zero states. Under
autocast products are in the narrow type and all else in that of the weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from paraphrastic_hf.layers.product import product

sigmoid_backward = torch.ops.aten.sigmoid_backward
tanh_backward = torch.ops.aten.tanh_backward


def lstm_steps(
    projected: Tensor, sizes: list[int], weight_h: Tensor, peepholes: Tensor | None = None
) -> Tensor:
    """States of the equations of `PeepholeLSTM` (`layers/recurrent.py`), (tokens, hidden).

    Args:
        projected: W_x x + b of the gates i, f, c, o one beside the other, (tokens, 4 hidden),
            packed; (tokens, 3 hidden) for no output gate.
        sizes: Texts at each step.
        weight_h: (4 or 3 hidden, hidden).
        peepholes: (3 or 2, hidden) of i, f, o.
    """
    return _LSTM.apply(projected, sizes, weight_h, peepholes)  # type: ignore[no-untyped-call]


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, sizes: list[int], weight_h: Tensor, peepholes: Tensor | None
    ) -> Tensor:
        size = weight_h.shape[1]
        states = weight_h.new_empty(len(projected), size)
        weight = weight_h.to(projected.dtype)
        hidden = cell = weight_h.new_zeros(sizes[0], size)
        activations = []
        for step, state in zip(projected.split(sizes), states.split(sizes), strict=True):
            before = cell[: len(step)]
            gates = product(hidden[: len(step)].to(weight.dtype), weight, step).to(states.dtype)
            enter, forget, new = gates[:, : 3 * size].split(size, 1)
            if peepholes is not None:
                enter.addcmul_(peepholes[0], before)
                forget.addcmul_(peepholes[1], before)
            gates[:, : 2 * size].sigmoid_()
            new.tanh_()
            cell = torch.mul(forget, before).addcmul_(enter, new)
            shown = torch.tanh(cell)
            if gates.shape[1] == 4 * size:
                leave = gates[:, 3 * size :]
                if peepholes is not None:
                    leave.addcmul_(peepholes[2], cell)
                torch.mul(leave.sigmoid_(), shown, out=state)
            else:
                state.copy_(shown)
            hidden = state
            activations += [gates, cell, shown]
        ctx.sizes = sizes
        ctx.save_for_backward(weight, peepholes, states, *activations)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None]:
        weight, peepholes, states, *activations = ctx.saved_tensors
        sizes, size = ctx.sizes, weight.shape[1]
        deltas = grad.new_empty(len(grad), len(weight))
        of_peepholes = weight.new_zeros(3, size, dtype=grad.dtype)  # of i, f, o
        after = of_cell = None  # deltas and the gradient of the cell, both of the step after
        for t, (from_above, delta) in reversed(
            list(enumerate(zip(grad.split(sizes), deltas.split(sizes), strict=True)))
        ):
            gates, cell, shown = activations[3 * t : 3 * t + 3]
            before = activations[3 * t - 2][: len(cell)] if t else torch.zeros_like(cell)
            enter, forget, new = gates[:, : 3 * size].split(size, 1)
            of_enter, of_forget, of_new = delta[:, : 3 * size].split(size, 1)
            of_hidden = from_above
            if after is not None:
                of_hidden = from_above.clone()
                of_hidden[: len(after)] += product(after.to(weight.dtype), weight.T)
            if gates.shape[1] == 4 * size:
                leave, of_leave = gates[:, 3 * size :], delta[:, 3 * size :]
                torch.mul(of_hidden, shown, out=of_leave)
                of_leave.copy_(sigmoid_backward(of_leave, leave))
                of_hidden = of_hidden * leave
            now = tanh_backward(of_hidden, shown)
            if of_cell is not None:
                now[: len(of_cell)] += of_cell
            if peepholes is not None and gates.shape[1] == 4 * size:
                now.addcmul_(of_leave, peepholes[2])
                of_peepholes[2] += (of_leave * cell).sum(0)
            torch.mul(now, new, out=of_enter)
            torch.mul(now, before, out=of_forget)
            torch.mul(now, enter, out=of_new)
            both = delta[:, : 2 * size]
            both.copy_(sigmoid_backward(both, gates[:, : 2 * size]))
            of_new.copy_(tanh_backward(of_new, new))
            of_cell = now * forget
            if peepholes is not None:
                of_cell.addcmul_(of_enter, peepholes[0]).addcmul_(of_forget, peepholes[1])
                of_peepholes[0] += (of_enter * before).sum(0)
                of_peepholes[1] += (of_forget * before).sum(0)
            after = delta
        of_weight = _of_weight(states, deltas, sizes, weight.dtype)
        return (
            deltas,
            None,
            of_weight,
            None if peepholes is None else of_peepholes[: len(peepholes)],
        )


def _of_weight(states: Tensor, deltas: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """Gradient of W_h, (rows, hidden): every step's deltas times the states before it."""
    parts = [state[:count] for state, count in zip(states.split(sizes), sizes[1:], strict=False)]
    before = torch.cat(parts) if parts else states[:0]
    return product(before.to(dtype).T, deltas[sizes[0] :].to(dtype).T).T
