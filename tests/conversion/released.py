"""Slow forward passes of the releases, and files in their format.

Arrays are in Lasagne's order and orientation: x @ W_in + h @ W_hid + b.
"""

import pickle
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paraphrastic_hf.conversion.convert import convert
from paraphrastic_hf.conversion.release import Choices, Converted
from paraphrastic_hf.encoders.encoder import SentenceEncoder

Arrays = list[np.ndarray]
UNKNOWN = "UUUNKKK"
WORDS = ["the", "cat", "a", "dog", "sleeps", "runs", "n't", "does", UNKNOWN, "."]
TEXTS = ["the cat sleeps .", "a dog does n't run", "dog", "the the the dog runs a cat sleeps runs"]


def random_arrays(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    return [rng.normal(0, 0.5, shape).astype(np.float32) for shape in shapes]


def lstm_arrays(rng: np.random.Generator, dim: int, size: int, gates: int = 4) -> Arrays:
    """W_in, W_hid, b of each gate, then the peepholes."""
    gate = [(dim, size), (size, size), (size,)]
    return random_arrays(rng, *gate * gates, *[(size,)] * (gates - 1))


def gran_arrays(rng: np.random.Generator, size: int, variant: int) -> Arrays:
    """An LSTM, then W_avg1, W_avg2, b_avg, W_avg12, W_avg22, b_avg2, W_avg3, W_avg32."""
    gate = [(size, size), (size, size), (size,)]
    extra = gate * (1 if variant <= 2 else 2) + [(size, size)] * (2 if variant == 4 else 0)
    return lstm_arrays(rng, size, size) + random_arrays(rng, *extra)


def states_of_zeros(size: int, count: int = 2) -> Arrays:
    """Initial states, which `get_all_param_values` includes."""
    return [np.zeros((1, size), np.float32) for _ in range(count)]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def word_ids(text: str, words: dict[str, int]) -> list[int]:
    return [words.get(word, words[UNKNOWN]) for word in text.lower().split()]


def trigram_ids(text: str, trigrams: dict[str, int]) -> list[int]:
    text = " " + text.lower().strip() + " "
    return [trigrams.get(text[i : i + 3], trigrams[UNKNOWN]) for i in range(len(text) - 2)]


def lstm_states(x: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Return (tokens, size) states. Four gates' arrays include an output gate."""
    gates = 4 if len(arrays) in (15, 12) else 3
    triples = [arrays[3 * k : 3 * k + 3] for k in range(gates)]
    peepholes = arrays[3 * gates :]
    size = len(arrays[2])
    if not peepholes:
        peepholes = [np.zeros(size)] * 3
    cell, hidden, states = np.zeros(size), np.zeros(size), []
    for x_t in x:
        sums = [x_t @ w_in + hidden @ w_hid + b for w_in, w_hid, b in triples]
        enter = sigmoid(sums[0] + cell * peepholes[0])
        forget = sigmoid(sums[1] + cell * peepholes[1])
        cell = forget * cell + enter * np.tanh(sums[2])
        hidden = np.tanh(cell)
        if gates == 4:
            hidden = hidden * sigmoid(sums[3] + cell * peepholes[2])
        states.append(hidden)
    return np.array(states)


def gran_states(x: np.ndarray, arrays: Arrays, variant: int) -> np.ndarray:
    w1, w2, b, *more = arrays[15:]
    average, states = np.zeros(x.shape[1]), []
    for x_t, h_t in zip(x, lstm_states(x, arrays[:15]), strict=True):
        total = x_t @ w1 + h_t @ w2 + b
        if variant <= 2:
            average = (x_t if variant == 1 else h_t) * sigmoid(total)
        else:
            second = x_t @ more[0] + h_t @ more[1] + more[2]
            if variant == 4:
                total, second = total + average @ more[3], second + average @ more[4]
            average = average * sigmoid(total) + x_t * sigmoid(second)
        states.append(average)
    return np.array(states)


def save(path: Path, values: Any, protocol: int = 2) -> Path:
    path.write_bytes(pickle.dumps(values, protocol))
    return path


def save_torch(path: Path, value: Any, is_zip: bool = True) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=is_zip)
    return path


def run(path: Path, texts: Sequence[str], **choices: Any) -> tuple[Converted, np.ndarray]:
    """Convert a file to the folder `out` beside it, and encode texts."""
    converted = convert(path, path.parent / "out", Choices(**choices), overwrite=True)
    return converted, SentenceEncoder.from_pretrained(path.parent / "out").encode(list(texts))


@contextmanager
def theano(gpu: bool = False) -> Iterator[Any]:
    """Yield a function whose result pickles as a Theano shared variable."""
    where = {
        "TensorSharedVariable": "theano.tensor.sharedvar",
        "CudaNdarraySharedVariable": "theano.sandbox.cuda.var",
        "TensorType": "theano.tensor.type",
        "CudaNdarrayType": "theano.sandbox.cuda.type",
        "Container": "theano.gof.link",
        "scratchpad": "theano.gof.utils",
    }
    classes = {name: type(name, (), {"__module__": module}) for name, module in where.items()}

    def CudaNdarray_unpickler(array: np.ndarray) -> None: ...

    class CudaNdarray:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __reduce__(self) -> Any:
            return CudaNdarray_unpickler, (self.array,)

    CudaNdarray_unpickler.__module__ = "theano.sandbox.cuda.type"
    CudaNdarray_unpickler.__qualname__ = "CudaNdarray_unpickler"
    names = {part for module in where.values() for part in _parents(module)}
    modules = {name: types.ModuleType(name) for name in names}
    for name, made in classes.items():
        setattr(modules[where[name]], name, made)
    modules["theano.sandbox.cuda.type"].CudaNdarray_unpickler = CudaNdarray_unpickler

    def shared(array: np.ndarray) -> Any:
        kind = classes["CudaNdarrayType" if gpu else "TensorType"]()
        kind.dtype, kind.broadcastable, kind.name = "float32", (False,) * array.ndim, None
        container = classes["Container"]()
        container.storage = [CudaNdarray(array) if gpu else array]
        container.type, container.readonly, container.strict = kind, False, False
        variable = classes["CudaNdarraySharedVariable" if gpu else "TensorSharedVariable"]()
        variable.type, variable.container, variable.owner = kind, container, None
        variable.tag = classes["scratchpad"]()
        variable.tag.trace = [("train.py", 7, "<module>", None)]
        return variable

    sys.modules.update(modules)
    try:
        yield shared
    finally:
        for name in modules:
            del sys.modules[name]


def _parents(module: str) -> Sequence[str]:
    parts = module.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
