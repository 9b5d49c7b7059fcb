"""Convert arrays of Lasagne's recurrent layers, in `get_all_params` order, to state dicts.

    LSTM    for the input gate, forget gate, cell and output gate, in this order: W_in (dim, size),
            W_hid (size, size), b (size,). Then three peepholes (size,): input, forget, output gate
    GRAN    an LSTM, then for one gate (from GRAN-3 on two gates): W_x, W_h (size, size), b (size,).
            In GRAN-4 then W_a (size, size) for both gates

Lasagne multiplies x W, so matrices are transposed. In releases with two gates, the gate of x_t is
the second. In this package it is the first.
"""

from collections.abc import Sequence

import numpy as np

Shape = tuple[int, ...]
State = dict[str, np.ndarray]


def lstm_shapes(dim: int, size: int, *, output_gate: bool, peepholes: bool) -> list[Shape]:
    gates = 4 if output_gate else 3
    return [(dim, size), (size, size), (size,)] * gates + [(size,)] * ((gates - 1) * peepholes)


def gran_shapes(size: int, variant: int) -> list[Shape]:
    gates = 1 if variant <= 2 else 2
    shapes = lstm_shapes(size, size, output_gate=True, peepholes=True)
    shapes += [(size, size), (size, size), (size,)] * gates
    return shapes + [(size, size)] * (2 if variant == 4 else 0)


def lstm_state(arrays: Sequence[np.ndarray], *, output_gate: bool, peepholes: bool) -> State:
    """Return the weights of a `PeepholeLSTM`, or without peepholes of an `LSTM`."""
    gates = 4 if output_gate else 3
    weight_x = np.concatenate([array.T for array in arrays[0 : 3 * gates : 3]])
    weight_h = np.concatenate([array.T for array in arrays[1 : 3 * gates : 3]])
    bias = np.concatenate(arrays[2 : 3 * gates : 3])
    if output_gate and not peepholes:
        return torch_lstm_state(weight_x, weight_h, bias)
    state = {"weight_x": weight_x, "weight_h": weight_h, "bias": bias}
    return {**state, "peepholes": np.stack(arrays[3 * gates :])} if peepholes else state


def torch_lstm_state(weight_x: np.ndarray, weight_h: np.ndarray, bias: np.ndarray) -> State:
    """Return the weights of an `LSTM`, whose gates have the order of torch's LSTM."""
    return {
        "cell.weight_ih_l0": weight_x,
        "cell.weight_hh_l0": weight_h,
        "cell.bias_ih_l0": bias,
        "cell.bias_hh_l0": np.zeros_like(bias),
    }


def gran_state(arrays: Sequence[np.ndarray], variant: int) -> State:
    lstm, gates = arrays[:15], list(arrays[15:])
    state = {
        f"lstm.{name}": array
        for name, array in lstm_state(lstm, output_gate=True, peepholes=True).items()
    }
    of_a, gates = gates[6:], gates[:6]
    if variant >= 3:
        gates, of_a = gates[3:] + gates[:3], of_a[::-1]
    state["weight_x"] = np.concatenate([array.T for array in gates[0::3]])
    state["weight_h"] = np.concatenate([array.T for array in gates[1::3]])
    state["bias"] = np.concatenate(gates[2::3])
    if of_a:
        state["weight_a"] = np.concatenate([array.T for array in of_a])
    return state


def prefixed(prefix: str, state: State) -> State:
    return {prefix + name: array for name, array in state.items()}
