"""The gradients written out are those of the equations, for every cell."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from paraphrastic_hf.layers.steps import lstm_steps

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


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_an_lstm_in_float32_is_autograd_through_the_loop(
    peepholes: bool, output_gate: bool
) -> None:
    """The two add up in another order: 30 numbers in float32."""
    given = of_lstm(peepholes, output_gate, torch.float32, size=30)
    wanted = [tensor for tensor in given if tensor is not None]
    pulls = drawn(sum(SIZES), 30, dtype=torch.float32, seed=3).detach()
    ours = lstm_steps(given[0], SIZES, *given[1:])
    theirs = lstm_loop(*given)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    for one, other in zip(
        torch.autograd.grad(ours, wanted, pulls),
        torch.autograd.grad(theirs, wanted, pulls),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_states_can_be_run_back_twice() -> None:
    projected, weight, seen = of_lstm(True, True)
    states = lstm_steps(projected, SIZES, weight, seen)
    first, again = (
        torch.autograd.grad(states.sum(), [projected, weight, seen], retain_graph=True)
        for _ in range(2)
    )
    assert all(map(torch.equal, first, again))
