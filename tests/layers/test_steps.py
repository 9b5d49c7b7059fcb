"""Gradients that are written by hand match finite differences, for every cell."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.gated import GatedRecurrence
from paraphrastic_hf.layers.recurrent import (
    LSTM,
    RNN,
    IdentityRNN,
    PeepholeLSTM,
    lstm_steps,
    rnn_steps,
)
from tests.layers.test_recurrent import randomized

SIZES = [5, 3, 3, 1]
HIDDEN = 4


def drawn(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(*shape, generator=generator, dtype=torch.float64) * 0.7
    return values.to(dtype).requires_grad_()


def of_lstm(
    peepholes: bool, output_gate: bool, dtype: torch.dtype = torch.float64, size: int = HIDDEN
) -> tuple[Tensor, Tensor, Tensor | None]:
    gates = 4 if output_gate else 3
    weights = drawn(gates - 1, size, dtype=dtype, seed=2) if peepholes else None
    projected = drawn(sum(SIZES), gates * size, dtype=dtype)
    return projected, drawn(gates * size, size, dtype=dtype, seed=1), weights


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_the_gradient_of_an_lstm(peepholes: bool, output_gate: bool) -> None:
    assert torch.autograd.gradcheck(
        lambda *given: lstm_steps(given[0], SIZES, *given[1:]), of_lstm(peepholes, output_gate)
    )


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_the_gradient_of_an_rnn(activation: str) -> None:
    given = (drawn(sum(SIZES), HIDDEN), drawn(HIDDEN, HIDDEN, seed=1))
    assert torch.autograd.gradcheck(lambda x, w: rnn_steps(x, SIZES, w, activation), given)


@pytest.mark.parametrize("variant", [3, 4])
def test_the_gradient_of_a_running_gran(variant: int) -> None:
    layer = GatedRecurrence(HIDDEN, variant).double()
    weights = [drawn(*weight.shape, seed=seed) for seed, weight in enumerate(layer.parameters())]
    names = [name for name, _ in layer.named_parameters()]

    def run(rows: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(
            layer, dict(zip(names, weights, strict=True)), (rows, SIZES)
        )

    assert torch.autograd.gradcheck(run, (drawn(sum(SIZES), HIDDEN, seed=9), *weights))


@pytest.mark.parametrize("projected_type", [torch.float32, torch.bfloat16])
def test_narrow_types_give_the_same_recurrence_with_fewer_digits(
    projected_type: torch.dtype,
) -> None:
    """States and gradients of weights stay float32. bfloat16 has 8 binary digits."""
    digits = 1e-5 if projected_type == torch.float32 else 0.03
    exact, given = (of_lstm(True, True, dtype, size=30) for dtype in (torch.float64, torch.float32))
    results = []
    for projected, weight, peepholes in (exact, (given[0].to(projected_type), *given[1:])):
        states = lstm_steps(projected, SIZES, weight, peepholes)
        results.append([states, *torch.autograd.grad(states.sum(), [weight, peepholes])])
    for wide, narrow in zip(*results, strict=True):
        assert narrow.dtype == torch.float32
        assert (narrow - wide).norm() < digits * wide.norm()


def test_states_are_equal_without_gradients_and_backward_can_run_twice() -> None:
    given = of_lstm(True, True)
    states = lstm_steps(given[0], SIZES, *given[1:])
    with torch.no_grad():
        assert torch.equal(lstm_steps(given[0], SIZES, *given[1:]), states)
    first, again = (torch.autograd.grad(states.sum(), given, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, again))


@pytest.mark.parametrize(
    "cell",
    [
        LSTM(3, HIDDEN),
        PeepholeLSTM(3, HIDDEN),
        PeepholeLSTM(3, HIDDEN, output_gate=False),
        RNN(3, HIDDEN, "tanh"),
        IdentityRNN(3),
    ],
    ids=str,
)
def test_distinct_tokens_may_be_given_once(cell: nn.Module) -> None:
    """Four tokens at twelve positions, one of them unused."""
    cell = randomized(cell)
    places = torch.tensor([0, 1, 0, 0, 2, 1, 0, 2, 2, 0, 1, 1])
    results = []
    for once in (True, False):
        cell.zero_grad()
        rows = drawn(4, 3)
        states = cell(rows, SIZES, places) if once else cell(rows[places], SIZES)
        states.square().sum().backward()
        grads = [p.grad.clone() for p in cell.parameters() if p.requires_grad]
        results.append([states.detach(), rows.grad, *grads])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)
