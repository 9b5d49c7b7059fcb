"""Recurrences over packed token vectors (`layers/packing.py`): RNN, identity-RNN, and LSTM with and
without peepholes and output gate (thesis, 3.1.2).

Every cell maps token vectors, (tokens, input), and the number of texts at each step to states,
(tokens, hidden), in the same order; texts start from zero states. Where tokens are alike, their
vector may be given once, (distinct, input), with the place of each token's vector, (tokens,): then
W_x x is computed once too. Cells have one bias, as the equations do.

torch has kernels for the plain RNN and LSTM, which run on a GPU. There is no kernel for peepholes,
for an LSTM without output gate or for the linear RNN: these are the loops of `layers/steps.py`. On
a CPU every cell is such a loop, the plain ones too: the gradient of torch's packed LSTM costs the
whole batch at each step, so that training is seven times slower than by the loop (measured on 512
texts of 14 tokens on average, 80 at most, one thread).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from paraphrastic_hf.layers.product import linear
from paraphrastic_hf.layers.steps import lstm_steps, rnn_steps


class RNN(nn.Module):
    """The plain recurrence, h_t = f(W_x x_t + W_h h_{t-1} + b).

    Args:
        input_size: Number of dimensions of x_t.
        hidden_size: Number of dimensions of h_t.
        activation: The name of f, `tanh` or `relu`.
    """

    def __init__(self, input_size: int, hidden_size: int, activation: str) -> None:
        super().__init__()
        self.cell = nn.RNN(input_size, hidden_size, nonlinearity=activation)
        self.cell.bias_hh_l0.requires_grad_(False)
        self.activation = activation

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the states h, (tokens, hidden_size), packed.

        Args:
            rows: Token vectors x, (tokens, input_size), packed; or (distinct, input_size).
            sizes: Number of texts that have a token at each step.
            places: Which of `rows` each token has, (tokens,), packed; None if each has its own.
        """
        if rows.is_cuda:
            return run_kernel(self.cell, rows, sizes, places)
        weight_x, weight_h, bias, other = self.cell.all_weights[0]
        projected = linear(rows, weight_x, bias + other)
        return rnn_steps(projected, sizes, weight_h, self.activation, places)


class IdentityRNN(nn.Module):
    """The linear recurrence h_t = W_x x_t + W_h h_{t-1} + b that starts from the identity.

    Training starts from W_x = W_h = I and b = 0, where the last state is the sum of the inputs.

    Args:
        size: Number of dimensions of x_t and of h_t.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight_x = nn.Parameter(torch.empty(size, size))
        self.weight_h = nn.Parameter(torch.empty(size, size))
        self.bias = nn.Parameter(torch.empty(size))

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the states h, (tokens, size), packed.

        Args:
            rows: Token vectors x, (tokens, size), packed; or (distinct, size).
            sizes: Number of texts that have a token at each step.
            places: Which of `rows` each token has, (tokens,), packed; None if each has its own.
        """
        projected = linear(rows, self.weight_x, self.bias)
        return rnn_steps(projected, sizes, self.weight_h, "linear", places)


class LSTM(nn.Module):
    """The LSTM of torch, which has the equations of `PeepholeLSTM` without peepholes.

    Args:
        input_size: Number of dimensions of x_t.
        hidden_size: Number of dimensions of h_t.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.cell = nn.LSTM(input_size, hidden_size)
        self.cell.bias_hh_l0.requires_grad_(False)

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the states h, (tokens, hidden_size), packed.

        Args:
            rows: Token vectors x, (tokens, input_size), packed; or (distinct, input_size).
            sizes: Number of texts that have a token at each step.
            places: Which of `rows` each token has, (tokens,), packed; None if each has its own.
        """
        if rows.is_cuda:
            return run_kernel(self.cell, rows, sizes, places)
        weight_x, weight_h, bias, other = self.cell.all_weights[0]
        return lstm_steps(linear(rows, weight_x, bias + other), sizes, weight_h, places=places)


class PeepholeLSTM(nn.Module):
    """The LSTM of Gers et al. (2003), with or without peepholes and output gate (thesis, 3.1.2).

        i_t = sigmoid(W_xi x_t + W_hi h_{t-1} + w_ci * c_{t-1} + b_i)
        f_t = sigmoid(W_xf x_t + W_hf h_{t-1} + w_cf * c_{t-1} + b_f)
        c_t = f_t * c_{t-1} + i_t * tanh(W_xc x_t + W_hc h_{t-1} + b_c)
        o_t = sigmoid(W_xo x_t + W_ho h_{t-1} + w_co * c_t + b_o)
        h_t = o_t * tanh(c_t)

    Peepholes w are elementwise, as in Gers et al. and the released code; the thesis writes them
    like matrices. Without the output gate o_t is 1. No kernel of torch computes this.

    Args:
        input_size: Number of dimensions of x_t.
        hidden_size: Number of dimensions of h_t.
        peepholes: Whether the gates read the cell c, by the weights w.
        output_gate: Whether there is an output gate o_t.

    Example:
        >>> lstm = PeepholeLSTM(3, 2, peepholes=False, output_gate=False)
        >>> initialize_cell(lstm, 0.1)
        >>> lstm(torch.ones(5, 3), [2, 2, 1]).shape  # two texts, of three tokens and of two
        torch.Size([5, 2])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        peepholes: bool = True,
        output_gate: bool = True,
    ) -> None:
        super().__init__()
        rows = (4 if output_gate else 3) * hidden_size  # input, forget, cell, output
        self.weight_x = nn.Parameter(torch.empty(rows, input_size))
        self.weight_h = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias = nn.Parameter(torch.empty(rows))
        gates = 3 if output_gate else 2  # input, forget, output
        self.peepholes = nn.Parameter(torch.empty(gates, hidden_size)) if peepholes else None

    def forward(self, rows: Tensor, sizes: list[int], places: Tensor | None = None) -> Tensor:
        """Return the states h, (tokens, hidden_size), packed.

        Args:
            rows: Token vectors x, (tokens, input_size), packed; or (distinct, input_size).
            sizes: Number of texts that have a token at each step.
            places: Which of `rows` each token has, (tokens,), packed; None if each has its own.
        """
        projected = linear(rows, self.weight_x, self.bias)
        return lstm_steps(projected, sizes, self.weight_h, self.peepholes, places)


CELLS = (nn.RNNBase, IdentityRNN, PeepholeLSTM)  # the modules that hold a recurrence's weights


def run_kernel(
    cell: nn.RNNBase, rows: Tensor, sizes: list[int], places: Tensor | None = None
) -> Tensor:
    """Compute the states of a recurrence, (tokens, hidden), by torch's own kernel.

    Args:
        cell: An RNN or LSTM of torch with one layer and one direction.
        rows: Token vectors, (tokens, input), packed; or (distinct, input).
        sizes: Number of texts that have a token at each step.
        places: Which of `rows` each token has, (tokens,), packed; None if each has its own.

    Example:
        >>> run_kernel(nn.LSTM(3, 2), torch.ones(5, 3), [2, 2, 1]).shape
        torch.Size([5, 2])
    """
    if places is not None:
        rows = rows.index_select(0, places)
    if not len(rows):
        return rows.new_zeros(0, cell.hidden_size)
    cell.flatten_parameters()
    states, _ = cell(PackedSequence(rows, torch.tensor(sizes)))
    return states.data


def initialize_cell(cell: nn.Module, std: float) -> None:
    """Draw the weights of a recurrence from N(0, std^2), and set its biases to 0.

    An identity-RNN starts from the identity instead. The bias of a forget gate is 0 too.

    Args:
        cell: A module that holds the weights, one of `CELLS`.
        std: Standard deviation, 0 or more.
    """
    for name, parameter in cell.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        elif isinstance(cell, IdentityRNN):
            nn.init.eye_(parameter)
        else:
            nn.init.normal_(parameter, std=std)
