"""Kinds of Theano releases: their encoders, and their arrays in Lasagne's order.

    LSTM    for the input gate, forget gate, cell and output gate, in this order: W_in (dim, size),
            W_hid (size, size), b (size,). Then three peepholes (size,): input, forget, output gate
    GRAN    an LSTM, then for one gate (from GRAN-3 on two gates): W_x, W_h (size, size), b (size,).
            In GRAN-4 then W_a (size, size) for both gates

Lasagne multiplies x W, so matrices are transposed. In releases with two gates, the gate of x_t is
the second. In this package it is the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

Shape = tuple[int, ...]
State = dict[str, np.ndarray]


@dataclass(frozen=True)
class Part:
    """One encoder of a release: an embedding table, then the arrays of further layers."""

    tokens: str  # words, trigrams or ngrams (CHARAGRAM)
    encoder: str  # average, projection, charagram, lstm or gran
    directions: int = 1
    detail: Any = None  # pooling of an LSTM, or variant of a GRAN


_WORDS, _TRIGRAMS = Part("words", "average"), Part("trigrams", "average")
_LSTM_AVG = Part("words", "lstm", 1, "mean")
RELEASED_PARTS: dict[str, tuple[Part, ...]] = {
    "words": (_WORDS,),
    "trigrams": (_TRIGRAMS,),
    "charagram": (Part("ngrams", "charagram"),),
    "projection": (Part("words", "projection"),),
    "lstm": (Part("words", "lstm", 1, "last"),),
    "lstm-avg": (_LSTM_AVG,),
    "lstm-max": (Part("words", "lstm", 1, "max"),),
    "bilstm-avg": (Part("words", "lstm", 2, "mean"),),
    "bilstm-max": (Part("words", "lstm", 2, "max"),),
    **{
        f"gran-{variant}".removesuffix("-1"): (Part("words", "gran", 1, variant),)
        for variant in (1, 2, 3, 4)
    },
    "bigran": (Part("words", "gran", 2, 1),),
    "trigrams+words": (_TRIGRAMS, _WORDS),
    "trigrams+lstm-avg": (_TRIGRAMS, _LSTM_AVG),
    "words+lstm-avg": (_WORDS, _LSTM_AVG),
    "trigrams+words+lstm-avg": (_TRIGRAMS, _WORDS, _LSTM_AVG),
}
EITHER_GATES = tuple(product((True, False), (True, False)))  # output gate, peepholes


@dataclass(frozen=True)
class Piece:
    """A part with its arrays. The shapes of the arrays determine the gates."""

    part: Part
    table: np.ndarray
    arrays: list[np.ndarray]
    gates: tuple[bool, bool] = (True, True)

    @property
    def size(self) -> int:
        """Dimension of the hidden state, or of the average if the part has no state."""
        return int(self.arrays[0].shape[-1]) if self.arrays else int(self.table.shape[1])


def divide(arrays: list[np.ndarray], kind: str) -> list[Piece] | None:
    """Divide the arrays among the parts of a kind, or return None if the shapes do not fit."""
    rest = list(arrays)
    pieces = []
    for part in RELEASED_PARTS[kind]:
        if not rest or rest[0].ndim != 2:
            return None
        table, *rest = rest
        for gates in EITHER_GATES if part.encoder == "lstm" else EITHER_GATES[:1]:
            count = _fitting(part, gates, table.shape[1], [array.shape for array in rest])
            if count is not None:
                pieces.append(Piece(part, table, rest[:count], gates))
                rest = rest[count:]
                break
        else:
            return None
    return pieces if not rest else None


def _fitting(part: Part, gates: tuple[bool, bool], dim: int, found: list[Shape]) -> int | None:
    size = found[0][-1] if found and found[0] else dim
    wanted = _shapes(part, gates, dim, size)
    return len(wanted) if found[: len(wanted)] == wanted else None


def _shapes(part: Part, gates: tuple[bool, bool], dim: int, size: int) -> list[Shape]:
    if part.encoder == "average":
        return []
    if part.encoder == "charagram":
        return [(dim,)]
    if part.encoder == "projection":
        return [(dim, size), (size,)]
    if part.encoder == "gran":
        return gran_shapes(dim, part.detail) * part.directions
    return lstm_shapes(dim, size, output_gate=gates[0], peepholes=gates[1]) * part.directions


def expected(kind: str) -> str:
    parts = []
    for part in RELEASED_PARTS[kind]:
        shapes = _shapes(part, (True, True), -1, -2)
        shown = " ".join(str(shape) for shape in shapes) or "nothing"
        parts.append(shown.replace("-1", "dim").replace("-2", "size"))
    return ". A table and ".join(parts)


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
