"""Kinds of Theano releases: the encoders of each kind, and the order of an encoder's arrays."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from paraphrastic_hf.conversion.lasagne import Shape, gran_shapes, lstm_shapes


@dataclass(frozen=True)
class Part:
    """One encoder of a release: an embedding table, then the arrays of further layers.

    Attributes:
        tokens: `words`, `trigrams` or `ngrams` (CHARAGRAM).
        encoder: `average`, `projection`, `charagram`, `lstm` or `gran`.
        detail: Pooling of an LSTM, or variant of a GRAN.
    """

    tokens: str
    encoder: str
    directions: int = 1
    detail: Any = None


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
