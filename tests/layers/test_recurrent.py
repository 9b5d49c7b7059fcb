"""Every cell follows its equations, and torch's kernel if there is one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.packing import Packing
from paraphrastic_hf.layers.recurrent import (
    LSTM,
    RNN,
    IdentityRNN,
    PeepholeLSTM,
    run_kernel,
)
from tests import oracles

LENGTHS = [3, 0, 1, 5, 5]
INPUT, HIDDEN = 3, 4


def randomized(cell: nn.Module, seed: int = 0) -> nn.Module:
    """Return the cell in float64 with random weights. Biases that the equations lack stay 0."""
    torch.manual_seed(seed)
    cell = cell.double()
    with torch.no_grad():
        for parameter in cell.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.7)
            else:
                parameter.zero_()
    return cell


def inputs(size: int = INPUT) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(sum(LENGTHS), size, generator=generator, dtype=torch.float64)


def run(cell: nn.Module, rows: Tensor) -> Tensor:
    packing = Packing.of(torch.tensor(LENGTHS))
    return packing.unpack(cell(packing.pack(rows), packing.sizes))


def texts() -> list[list[list[float]]]:
    return [text.tolist() for text in inputs().split(LENGTHS)]


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_an_rnn_matches_the_slow_loop_and_has_one_bias(activation: str) -> None:
    """`linear` is the identity RNN."""
    if activation == "linear":
        cell = randomized(IdentityRNN(INPUT))
        weights = [w.tolist() for w in (cell.weight_x, cell.weight_h, cell.bias)]
    else:
        cell = randomized(RNN(INPUT, HIDDEN, activation))
        weights = [w.tolist() for w in cell.cell.all_weights[0][:3]]
    expected = [h for text in texts() for h in oracles.rnn(text, *weights, activation)]
    torch.testing.assert_close(run(cell, inputs()), torch.tensor(expected, dtype=torch.float64))
    assert sum("bias" in name for name, p in cell.named_parameters() if p.requires_grad) == 1


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_a_peephole_lstm_matches_the_slow_loop(peepholes: bool, output_gate: bool) -> None:
    cell = randomized(PeepholeLSTM(INPUT, HIDDEN, peepholes=peepholes, output_gate=output_gate))
    weights = [w.tolist() for w in (cell.weight_x, cell.weight_h, cell.bias)]
    seen = None if cell.peepholes is None else cell.peepholes.tolist()
    expected = [h for text in texts() for h in oracles.lstm(text, *weights, seen)]
    torch.testing.assert_close(run(cell, inputs()), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("cell", [LSTM(INPUT, HIDDEN), RNN(INPUT, HIDDEN, "tanh")], ids=str)
def test_the_loop_matches_torchs_kernel_forward_and_backward(cell: nn.Module) -> None:
    """A GPU runs the kernel and a CPU the loop, with the same weights."""
    cell, packing = randomized(cell), Packing.of(torch.tensor(LENGTHS))
    results = []
    for function in (cell, lambda rows, sizes: run_kernel(cell.cell, rows, sizes)):
        cell.zero_grad()
        rows = inputs().requires_grad_()
        states = packing.unpack(function(packing.pack(rows), packing.sizes))
        states.square().sum().backward()
        grads = [p.grad.clone() for p in cell.parameters() if p.requires_grad]
        results.append([states.detach(), rows.grad, *grads])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_no_tokens_give_no_states() -> None:
    for cell in (LSTM(INPUT, HIDDEN), PeepholeLSTM(INPUT, HIDDEN), RNN(INPUT, HIDDEN, "tanh")):
        assert cell(torch.zeros(0, INPUT), [0]).shape == (0, HIDDEN)
    assert run_kernel(LSTM(INPUT, HIDDEN).cell, torch.zeros(0, INPUT), [0]).shape == (0, HIDDEN)
