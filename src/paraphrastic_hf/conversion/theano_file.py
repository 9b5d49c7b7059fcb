"""The Theano releases' `.pickle` files: arrays in the order of their layers, and vocabularies.

The released training code says what the files of each paper hold:

* towards-universal 2016 and charagram 2016 pickle Theano's shared variables, only those that are
  trained, and no vocabulary;
* revisiting-recurrent 2017 pickles numpy arrays, initial states among them, and no vocabulary;
* ParaNMT 2018 pickles numpy arrays too, and as the last entry the vocabulary, a dict from words to
  rows, or a pair of vocabularies for a mixture.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.conversion.pickled import Array, Calls, Record, make_record
from paraphrastic_hf.conversion.unpickle import PickleReader
from paraphrastic_hf.errors import DataError

SHARED_VARIABLES = (
    "theano.tensor.sharedvar.TensorSharedVariable",
    "theano.sandbox.cuda.var.CudaNdarraySharedVariable",
)
THEANO_CLASSES = (
    *SHARED_VARIABLES,
    "theano.tensor.type.TensorType",
    "theano.sandbox.cuda.type.CudaNdarrayType",
    "theano.gof.link.Container",
    "theano.gof.utils.scratchpad",
)


def _from_gpu(array: Any) -> Array:
    if not isinstance(array, Array):
        raise TypeError("expected an array")
    return array


THEANO: Calls = {
    **{name: make_record(name) for name in THEANO_CLASSES},
    "theano.sandbox.cuda.type.CudaNdarray_unpickler": _from_gpu,
}


@dataclass(frozen=True)
class TheanoFile:
    """What a Theano release holds.

    Attributes:
        arrays: The float32 arrays, in the order of the layers.
        vocabularies: Dicts from tokens to rows, one for each table of vectors; empty if the file
            has no vocabulary.
    """

    arrays: list[np.ndarray]
    vocabularies: list[dict[str, int]]

    def described(self) -> str:
        """Describe what the file holds, with a line for each array and vocabulary."""
        lines = [f"{n}: array {array.shape}" for n, array in enumerate(self.arrays)]
        lines += [f"vocabulary of {len(words):,}" for words in self.vocabularies]
        return "\n  ".join(lines)


def read_theano(path: str | Path) -> TheanoFile:
    """Read a Theano release without running anything in it.

    Raises:
        DataError: The file holds what no release needs, is cut short, or is no list of arrays of
            finite numbers.
    """
    path = Path(path)
    with map_file(path) as file:
        values = PickleReader(file, str(path), calls=THEANO).read()  # type: ignore[arg-type]
    if not isinstance(values, list) or not values:
        raise DataError(
            f"{path} holds a {type(values).__name__}; expected a list of arrays, as the Theano "
            "releases have"
        )
    last = values[-1]
    vocabularies: list[Any] = []
    if isinstance(last, dict):
        vocabularies = [last]
    elif isinstance(last, list | tuple):
        vocabularies = list(last)
    arrays = [_array(value) for value in (values[:-1] if vocabularies else values)]
    whole = [
        check_numbers(array, f"{path}: entry {number} of {len(values)}")
        for number, array in enumerate(arrays)
    ]
    for vocabulary in vocabularies:
        check_vocabulary(vocabulary, str(path))
    return TheanoFile(whole, vocabularies)


def check_numbers(array: np.ndarray | None, place: str) -> np.ndarray:
    """An array as float32.

    Raises:
        DataError: It is none, of other numbers, empty, or a number is not finite in float32;
            `place` says in the message where it was found.
    """
    if array is None or array.dtype.kind != "f" or not array.size:
        raise DataError(
            f"{place} is no array of numbers; expected arrays of floats, and in a Theano release "
            "at most a vocabulary, or a pair of them, at the end"
        )
    with np.errstate(over="ignore"):
        whole = np.asarray(array, np.float32)
    if not np.isfinite(whole).all():
        raise DataError(
            f"{place} holds numbers that are not finite, or too large for float32 (3.4e38); the "
            "model is broken"
        )
    return whole


def check_vocabulary(vocabulary: Any, place: str) -> None:
    """Refuse a vocabulary that is no dict from text to different whole numbers.

    Raises:
        DataError: It is no such dict; `place` says in the message where it was found.
    """
    is_good = (
        isinstance(vocabulary, dict)
        and all(isinstance(token, str) for token in vocabulary)
        and all(type(row) is int and row >= 0 for row in vocabulary.values())
        and len(set(vocabulary.values())) == len(vocabulary)
    )
    if not is_good:
        raise DataError(f"{place} holds a vocabulary that is no dict of tokens to different rows")


def map_file(path: Path) -> mmap.mmap:
    """Map a file into memory, so that only the bytes that are used are read.

    Raises:
        DataError: The file cannot be opened or is empty.
    """
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise DataError(f"cannot read {path}: {error}") from error


def _array(value: Any) -> np.ndarray | None:
    """The array that a value is or, as a shared variable, holds; None if there is none."""
    if isinstance(value, Record) and value.name in SHARED_VARIABLES:
        container = (value.state or {}).get("container")
        storage = (container.state or {}).get("storage") if isinstance(container, Record) else None
        value = storage[0] if isinstance(storage, list) and len(storage) == 1 else None
    return value if isinstance(value, np.ndarray) else None
