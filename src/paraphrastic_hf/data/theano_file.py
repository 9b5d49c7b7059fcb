"""The Theano releases' `.pickle` files: arrays in the order of their layers, and vocabularies.

What they hold, from the released training code (towards-universal 2016, charagram 2016,
revisiting-recurrent 2017, ParaNMT 2018):

* the two of 2016 pickle Theano's shared variables, trained ones only, and no vocabulary;
* the one of 2017 numpy arrays, initial states too, and no vocabulary;
* ParaNMT the same and last the vocabulary, word to row, or for mixtures a pair of them.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.data.pickled import Array, Calls, Record, make_record
from paraphrastic_hf.data.unpickle import PickleReader
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
    """A Theano release.

    Attributes:
        arrays: In the order of the layers, float32.
        vocabularies: Token to row, one a table that needs one of its own; none where the file has
            none.
    """

    arrays: list[np.ndarray]
    vocabularies: list[dict[str, int]]

    def described(self) -> str:
        """What the file holds, a line each."""
        lines = [f"{n}: array {array.shape}" for n, array in enumerate(self.arrays)]
        lines += [f"vocabulary of {len(words):,}" for words in self.vocabularies]
        return "\n  ".join(lines)


def read_theano(path: str | Path) -> TheanoFile:
    """Read a Theano release, running nothing.

    Raises:
        DataError: It names what no release needs, is cut short, or is no list of arrays of finite
            numbers.
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
    for number, array in enumerate(arrays):
        if array is None or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise DataError(
                f"{path}: entry {number} of {len(values)} is no array of finite numbers; expected "
                "arrays, and at most a vocabulary, or a pair of them, at the end"
            )
    for vocabulary in vocabularies:
        check_vocabulary(vocabulary, str(path))
    return TheanoFile([np.asarray(array, np.float32) for array in arrays], vocabularies)


def check_vocabulary(vocabulary: Any, place: str) -> None:
    """Refuse what is no dict of text to different whole numbers.

    Raises:
        DataError: It is not.
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
    """A file's bytes without reading them.

    Raises:
        DataError: It cannot be opened or is empty.
    """
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise DataError(f"cannot read {path}: {error}") from error


def _array(value: Any) -> np.ndarray | None:
    """An array, or what a shared variable holds."""
    if isinstance(value, Record) and value.name in SHARED_VARIABLES:
        container = (value.state or {}).get("container")
        storage = (container.state or {}).get("storage") if isinstance(container, Record) else None
        value = storage[0] if isinstance(storage, list) and len(storage) == 1 else None
    return value if isinstance(value, np.ndarray) else None
