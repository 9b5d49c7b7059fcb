"""Recurrences over packed token vectors (`layers/packing.py`): RNN, identity-RNN and LSTM with or
without peepholes and output gate (thesis, 3.1.2).

`sizes` has the number of texts with a token at each step. With `places`, (tokens,) and packed,
vectors are those of the distinct tokens, in any order, and token i has row `places[i]`. Then
products with W_x are computed once per distinct token.

Initial states are zero. Cells have one bias, as in the equations. On a GPU, torch's kernels compute
the plain RNN and LSTM. All other cells, and every cell on a CPU, are loops over the steps with a
hand-written gradient. Second derivatives are not supported. Under autocast, products use the
autocast type and everything else the type of the weights.

On a CPU, torch's packed LSTM trains seven times slower (512 texts of 14 tokens on average, one
thread).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from paraphrastic_hf.layers.elementwise import ACTIVATIONS, tanh_
from paraphrastic_hf.layers.embedding import add_by_row
from paraphrastic_hf.layers.packing import Packing
from paraphrastic_hf.layers.product import linear, product

# f(gradient of the output, output, grad_input=buffer) writes the gradient of the input to a buffer
through_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
through_tanh = torch.ops.aten.tanh_backward.grad_input


def rnn_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    activation: str,
    places: Tensor | None = None,
) -> Tensor:
    """Compute the packed states h_t = f(projected_t + W_h h_{t-1}), (tokens, hidden).

    `projected` is W_x x + b, and `activation` the name of f in `ACTIVATIONS`.
    """
    return _RNN.apply(projected, places, sizes, weight_h, activation)  # type: ignore[no-untyped-call]


def lstm_steps(
    projected: Tensor,
    sizes: list[int],
    weight_h: Tensor,
    peepholes: Tensor | None = None,
    places: Tensor | None = None,
) -> Tensor:
    """Compute the packed states of `PeepholeLSTM`, (tokens, hidden).

    `projected` is W_x x + b for i, f, c and o, concatenated, (tokens, 4 hidden). `weight_h` is W_h
    of the same gates, stacked. `peepholes` is w_c of i, f and o, (3, hidden). Without an output
    gate, all three lack the part for o.
    """
    keeps = torch.is_grad_enabled()  # always False within `forward`
    given = (projected, places, sizes, weight_h, peepholes, keeps)
    return _LSTM.apply(*given)  # type: ignore[no-untyped-call]


def weight_gradient(states: Tensor, deltas: Tensor, sizes: list[int], dtype: torch.dtype) -> Tensor:
    """Return the gradient of W, (output, hidden), for a recurrence that adds W s_{t-1} at step t.

    `states` are s and `deltas` the gradients of W s_{t-1}, both packed. `dtype` is the type to
    multiply in.
    """
    parts = [state[:count] for state, count in zip(states.split(sizes), sizes[1:], strict=False)]
    before = torch.cat(parts) if parts else states[:0]
    return product(before.to(dtype).T, deltas[sizes[0] :].to(dtype).T).T


def _steps(projected: Tensor, places: Tensor | None, sizes: list[int]) -> Iterator[Tensor]:
    """Yield the rows of `projected` for each step. `places` are looked up step by step."""
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
            tanh_(new)
            cell = torch.mul(forget, before).addcmul_(enter, new)
            shown = tanh_(cell.clone())
            for leave in leaves:  # output gate, if the cell has one
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


class TorchCell(nn.Module):
    """Recurrence with the weights of torch's RNN or LSTM, whose kernel computes it on a GPU."""

    def __init__(self, cell: nn.RNNBase) -> None:
        super().__init__()
        self.cell = cell
        self.cell.bias_hh_l0.requires_grad_(False)

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the packed states h, (tokens, hidden_size), of token vectors x."""
        if rows.is_cuda:
            return run_kernel(self.cell, rows, sizes, places)
        weight_x, weight_h, bias, other = self.cell.all_weights[0]
        projected = linear(rows, weight_x, bias + other)
        if isinstance(self.cell, nn.RNN):
            return rnn_steps(projected, sizes, weight_h, self.cell.nonlinearity, places)
        return lstm_steps(projected, sizes, weight_h, places=places)


class RNN(TorchCell):
    """Plain recurrence h_t = f(W_x x_t + W_h h_{t-1} + b). The activation f is `tanh` or `relu`."""

    def __init__(self, input_size: int, hidden_size: int, activation: str) -> None:
        super().__init__(nn.RNN(input_size, hidden_size, nonlinearity=activation))


class LSTM(TorchCell):
    """torch's LSTM, which computes the equations of `PeepholeLSTM` without peepholes."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(nn.LSTM(input_size, hidden_size))


class IdentityRNN(nn.Module):
    """Linear recurrence h_t = W_x x_t + W_h h_{t-1} + b, initialized to the identity.

    Training starts from W_x = W_h = I and b = 0. Then the last state is the sum of the inputs.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight_x = nn.Parameter(torch.empty(size, size))
        self.weight_h = nn.Parameter(torch.empty(size, size))
        self.bias = nn.Parameter(torch.empty(size))

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the packed states h, (tokens, hidden_size), of token vectors x."""
        projected = linear(rows, self.weight_x, self.bias)
        return rnn_steps(projected, sizes, self.weight_h, "linear", places)


class PeepholeLSTM(nn.Module):
    """LSTM of Gers et al. (2003), with or without peepholes and output gate (thesis, 3.1.2).

        i_t = sigmoid(W_xi x_t + W_hi h_{t-1} + w_ci * c_{t-1} + b_i)
        f_t = sigmoid(W_xf x_t + W_hf h_{t-1} + w_cf * c_{t-1} + b_f)
        c_t = f_t * c_{t-1} + i_t * tanh(W_xc x_t + W_hc h_{t-1} + b_c)
        o_t = sigmoid(W_xo x_t + W_ho h_{t-1} + w_co * c_t + b_o)
        h_t = o_t * tanh(c_t)

    Peephole weights w are elementwise, as in Gers et al. and the released code. The thesis writes
    them as matrices. Without the output gate o_t is 1.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, peepholes: bool = True, output_gate: bool = True
    ) -> None:
        super().__init__()
        rows = (4 if output_gate else 3) * hidden_size  # input, forget, cell, output
        self.weight_x = nn.Parameter(torch.empty(rows, input_size))
        self.weight_h = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias = nn.Parameter(torch.empty(rows))
        gates = 3 if output_gate else 2  # input, forget, output
        self.peepholes = nn.Parameter(torch.empty(gates, hidden_size)) if peepholes else None

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the packed states h, (tokens, hidden_size), of token vectors x."""
        projected = linear(rows, self.weight_x, self.bias)
        return lstm_steps(projected, sizes, self.weight_h, self.peepholes, places)


def run_directions(
    cells: Iterable[nn.Module],
    rows: Tensor,
    lengths: Tensor,
    merge: str = "concatenate",
    layer: nn.Linear | None = None,
    places: Tensor | None = None,
) -> Tensor:
    """Return the states of one recurrence, or the merged states of two, (tokens, dim).

    `rows` are token vectors, (tokens, dim), texts concatenated. With `places`, (tokens,), they are
    the vectors of distinct tokens, and token i has row `places[i]`. Two directions are merged by
    `add`, `concatenate`, or `tanh` of the dense `layer`.
    """
    directions = []
    for cell, backward in zip(cells, (False, True), strict=False):
        packing = Packing.of(lengths, backward=backward)
        if places is None:
            states = cell(packing.pack(rows), packing.sizes)
        else:
            states = cell(rows, packing.sizes, places[packing.order])
        directions.append(packing.unpack(states))
    if len(directions) == 1:
        return directions[0]
    if merge == "add":
        return directions[0] + directions[1]
    both = torch.cat(directions, 1)
    return both if layer is None else torch.tanh(layer(both))


CELLS = (nn.RNNBase, IdentityRNN, PeepholeLSTM)  # modules with a recurrence's weights


def run_kernel(
    cell: nn.RNNBase, rows: Tensor, sizes: list[int], places: Tensor | None = None
) -> Tensor:
    """Compute the states of a recurrence, (tokens, hidden), with torch's own kernel."""
    if places is not None:
        rows = rows.index_select(0, places)
    if not len(rows):
        return rows.new_zeros(0, cell.hidden_size)
    cell.flatten_parameters()
    states, _ = cell(PackedSequence(rows, torch.tensor(sizes)))
    return states.data


def initialize_cell(cell: nn.Module, std: float) -> None:
    """Draw the weights of a recurrence, one of `CELLS`, from N(0, std^2) and set all biases to 0.

    An identity-RNN gets identity matrices instead.
    """
    for name, parameter in cell.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        elif isinstance(cell, IdentityRNN):
            nn.init.eye_(parameter)
        else:
            nn.init.normal_(parameter, std=std)
