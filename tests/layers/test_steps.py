"""The gradients written out are those of the equations, for every cell."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.elementwise import ACTIVATIONS
from paraphrastic_hf.layers.gated import GatedRecurrence
from paraphrastic_hf.layers.recurrent import (
    LSTM,
    RNN,
    IdentityRNN,
    PeepholeLSTM,
    lstm_steps,
    rnn_steps,
)
from tests.layers.test_recurrent import started

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
    seen = drawn(gates - 1, size, dtype=dtype, seed=2) if peepholes else None
    projected = drawn(sum(SIZES), gates * size, dtype=dtype)
    return projected, drawn(gates * size, size, dtype=dtype, seed=1), seen


def lstm_loop(projected: Tensor, weight_h: Tensor, peepholes: Tensor | None) -> Tensor:
    """The equations, for autograd."""
    size = weight_h.shape[1]
    hidden = cell = projected.new_zeros(SIZES[0], size)
    states = []
    for step in projected.split(SIZES):
        cell = cell[: len(step)]
        gates = (step + hidden[: len(step)] @ weight_h.T).split(size, 1)
        seen = [0, 0, 0] if peepholes is None else peepholes
        enter, forget = (torch.sigmoid(gates[k] + seen[k] * cell) for k in (0, 1))
        cell = forget * cell + enter * torch.tanh(gates[2])
        hidden = torch.tanh(cell)
        if len(gates) == 4:
            hidden = torch.sigmoid(gates[3] + seen[2] * cell) * hidden
        states.append(hidden)
    return torch.cat(states)


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_the_gradient_of_an_lstm_is_that_of_differences(peepholes: bool, output_gate: bool) -> None:
    projected, weight, seen = of_lstm(peepholes, output_gate)
    assert torch.autograd.gradcheck(
        lambda *given: lstm_steps(given[0], SIZES, *given[1:]), (projected, weight, seen)
    )


@pytest.mark.parametrize("variant", [3, 4])
def test_the_gradient_of_a_running_gran_is_that_of_differences(variant: int) -> None:
    layer = GatedRecurrence(HIDDEN, variant).double()
    weights = [drawn(*weight.shape, seed=seed) for seed, weight in enumerate(layer.parameters())]
    names = [name for name, _ in layer.named_parameters()]

    def run(rows: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(
            layer, dict(zip(names, weights, strict=True)), (rows, SIZES)
        )

    assert torch.autograd.gradcheck(run, (drawn(sum(SIZES), HIDDEN, seed=9), *weights))


def rnn_loop(projected: Tensor, weight_h: Tensor, activation: str) -> Tensor:
    """The equations, for autograd."""
    hidden = projected.new_zeros(SIZES[0], len(weight_h))
    states = []
    for step in projected.split(SIZES):
        hidden = ACTIVATIONS[activation](step + hidden[: len(step)] @ weight_h.T)
        states.append(hidden)
    return torch.cat(states)


def assert_alike(ours: Tensor, theirs: Tensor, given: list[Tensor]) -> None:
    """Values and gradients; the two add up in another order, in float32."""
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    pulls = drawn(*ours.shape, dtype=torch.float32, seed=3).detach()
    for one, other in zip(
        torch.autograd.grad(ours, given, pulls),
        torch.autograd.grad(theirs, given, pulls),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_an_rnn_is_autograd_through_the_loop_and_differences(activation: str) -> None:
    given = [drawn(sum(SIZES), 30, dtype=torch.float32), drawn(30, 30, dtype=torch.float32, seed=1)]
    ours = rnn_steps(given[0], SIZES, given[1], activation)
    assert_alike(ours, rnn_loop(given[0], given[1], activation), given)
    small = (drawn(sum(SIZES), HIDDEN), drawn(HIDDEN, HIDDEN, seed=1))
    assert torch.autograd.gradcheck(
        lambda *given: rnn_steps(given[0], SIZES, given[1], activation), small
    )


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_an_lstm_in_float32_is_autograd_through_the_loop(
    peepholes: bool, output_gate: bool
) -> None:
    given = of_lstm(peepholes, output_gate, torch.float32, size=30)
    wanted = [tensor for tensor in given if tensor is not None]
    assert_alike(lstm_steps(given[0], SIZES, *given[1:]), lstm_loop(*given), wanted)


def test_autocast_is_the_same_recurrence_in_fewer_digits() -> None:
    """bfloat16 has 8 binary digits; states and gradients of weights are float32."""
    projected, weight, seen = of_lstm(True, True, torch.float32, size=30)
    results = []
    for narrow in (projected, projected.bfloat16()):
        states = lstm_steps(narrow, SIZES, weight, seen)
        results.append([states, *torch.autograd.grad(states.sum(), [weight, seen])])
        assert all(result.dtype == torch.float32 for result in results[-1])
    torch.testing.assert_close(results[1][0], results[0][0], rtol=0.05, atol=0.05)
    for narrow, wide in zip(*results, strict=True):
        assert (narrow - wide).norm() < 0.03 * wide.norm()


def test_states_are_the_same_without_gradients_and_can_be_run_back_twice() -> None:
    projected, weight, seen = of_lstm(True, True)
    states = lstm_steps(projected, SIZES, weight, seen)
    with torch.no_grad():
        assert torch.equal(lstm_steps(projected, SIZES, weight, seen), states)
    first, again = (
        torch.autograd.grad(states.sum(), [projected, weight, seen], retain_graph=True)
        for _ in range(2)
    )
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
def test_tokens_that_are_alike_may_be_given_once(cell: nn.Module) -> None:
    """Four tokens in twelve places, one of them in none."""
    cell = started(cell)
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
