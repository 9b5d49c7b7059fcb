"""Every cell matches its equations, torch's kernel if there is one, and finite differences."""

from functools import partial

import pytest
import torch

from paraphrastic_hf.layers.packing import Packing
from paraphrastic_hf.layers.recurrent import (
    LSTM,
    RNN,
    IdentityRNN,
    PeepholeLSTM,
    lstm_steps,
    rnn_steps,
    run_kernel,
)
from tests import oracles

LENGTHS = [3, 0, 1, 5, 5]
INPUT, HIDDEN = 3, 4


def randomized(cell, seed=0):
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


def inputs(size=INPUT):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(sum(LENGTHS), size, generator=generator, dtype=torch.float64)


def run(cell, rows):
    packing = Packing.of(torch.tensor(LENGTHS))
    return packing.unpack(cell(packing.pack(rows), packing.sizes))


def texts():
    return [text.tolist() for text in inputs().split(LENGTHS)]


def states_and_gradients(cell, rows, states_of):
    cell.zero_grad()
    states = states_of(rows.requires_grad_())
    states.square().sum().backward()
    grads = [p.grad.clone() for p in cell.parameters() if p.requires_grad]
    return [states.detach(), rows.grad, *grads]


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_an_rnn_matches_the_slow_loop_and_has_one_bias(activation):
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
def test_a_peephole_lstm_matches_the_slow_loop(peepholes, output_gate):
    cell = randomized(PeepholeLSTM(INPUT, HIDDEN, peepholes=peepholes, output_gate=output_gate))
    weights = [w.tolist() for w in (cell.weight_x, cell.weight_h, cell.bias)]
    seen = None if cell.peepholes is None else cell.peepholes.tolist()
    expected = [h for text in texts() for h in oracles.lstm(text, *weights, seen)]
    torch.testing.assert_close(run(cell, inputs()), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("cell", [LSTM(INPUT, HIDDEN), RNN(INPUT, HIDDEN, "tanh")], ids=str)
def test_the_loop_matches_torchs_kernel_forward_and_backward(cell):
    """A GPU runs the kernel and a CPU the loop, with the same weights."""
    cell, packing = randomized(cell), Packing.of(torch.tensor(LENGTHS))

    def results(function):
        assert function(torch.zeros(0, INPUT).double(), [0]).shape == (0, HIDDEN)
        return states_and_gradients(
            cell,
            inputs(),
            lambda rows: packing.unpack(function(packing.pack(rows), packing.sizes)),
        )

    torch.testing.assert_close(results(cell), results(partial(run_kernel, cell.cell)))


SIZES = [5, 3, 3, 1]


def drawn(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(*shape, generator=generator, dtype=torch.float64) * 0.7
    return values.to(dtype).requires_grad_()


def of_lstm(peepholes, output_gate, dtype=torch.float64, size=HIDDEN):
    gates = 4 if output_gate else 3
    weights = drawn(gates - 1, size, dtype=dtype, seed=2) if peepholes else None
    projected = drawn(sum(SIZES), gates * size, dtype=dtype)
    return projected, drawn(gates * size, size, dtype=dtype, seed=1), weights


@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_the_gradient_of_an_lstm(peepholes, output_gate):
    assert torch.autograd.gradcheck(
        lambda *given: lstm_steps(given[0], SIZES, *given[1:]), of_lstm(peepholes, output_gate)
    )


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_the_gradient_of_an_rnn(activation):
    given = (drawn(sum(SIZES), HIDDEN), drawn(HIDDEN, HIDDEN, seed=1))
    assert torch.autograd.gradcheck(lambda x, w: rnn_steps(x, SIZES, w, activation), given)


@pytest.mark.parametrize("projected_type", [torch.float32, torch.bfloat16])
def test_narrow_types_give_the_same_recurrence_with_fewer_digits(projected_type):
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


def test_states_are_equal_without_gradients_and_backward_can_run_twice():
    given = of_lstm(True, True)
    states = lstm_steps(given[0], SIZES, *given[1:])
    with torch.no_grad():
        assert torch.equal(lstm_steps(given[0], SIZES, *given[1:]), states)
    first, again = (torch.autograd.grad(states.sum(), given, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, again))


@pytest.mark.parametrize(
    "cell",
    [
        *(LSTM(3, HIDDEN), PeepholeLSTM(3, HIDDEN), PeepholeLSTM(3, HIDDEN, output_gate=False)),
        *(RNN(3, HIDDEN, "tanh"), IdentityRNN(3)),
    ],
    ids=str,
)
def test_distinct_tokens_may_be_given_once(cell):
    """Four tokens at twelve positions, one of them unused."""
    cell = randomized(cell)
    places = torch.tensor([0, 1, 0, 0, 2, 1, 0, 2, 2, 0, 1, 1])
    once = states_and_gradients(cell, drawn(4, 3), lambda rows: cell(rows, SIZES, places))
    repeated = states_and_gradients(cell, drawn(4, 3), lambda rows: cell(rows[places], SIZES))
    torch.testing.assert_close(once, repeated)
