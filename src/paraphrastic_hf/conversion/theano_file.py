"""Reader of the Theano releases' `.pickle` files: arrays in layer order, and vocabularies.

* towards-universal 2016 and charagram 2016: the trained shared variables of Theano.
* revisiting-recurrent 2017: numpy arrays, including initial states.
* ParaNMT 2018: numpy arrays, then a dict from words to rows, or two such dicts for a mixture.

A pickle can call any function that it names. Here each allowed name is replaced by a class or
function of this module, and other names are refused. Even numpy's classes are replaced, because
with a crafted data type they read the bytes of a file as pointers (numpy 2.4 crashed on 8 bytes).
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError, refused


class _Fixed(type):
    """Metaclass that keeps pickles from setting the attributes of classes."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise pickle.UnpicklingError(f"the file sets the attribute {name!r} of a class")


class _Object(metaclass=_Fixed):
    """Replacement of a Theano object, with attributes only."""


class _NumberType(metaclass=_Fixed):
    """Replacement of numpy's float data types. The pickle sets the byte order in a second step."""

    def __init__(self, code: str, *_: Any) -> None:
        if code not in ("f2", "f4", "f8"):
            raise pickle.UnpicklingError(f"the file has an array of type {code!r:.40}, not floats")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array(metaclass=_Fixed):
    """Replacement of numpy's array. The pickle sets the values in a second step."""

    numbers: np.ndarray | None = None

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, is_fortran, data = state
        self.numbers = _make_array(data, kind, shape, "F" if is_fortran else "C").numbers


def _make_array(data: Any, kind: Any, shape: Any, order: str) -> _Array:
    if not isinstance(kind, _NumberType):
        raise pickle.UnpicklingError("the file contains an array without a dtype")
    encoded = _encode(data) if isinstance(data, str) else data
    array = _Array()
    numbers = np.frombuffer(encoded, kind.dtype)
    array.numbers = numbers.reshape(shape, order="F" if order == "F" else "C")
    return array


def _encode(text: str, *_: Any) -> bytes:
    """Return the bytes that a pickle stores as text, as Python 2 does."""
    return str.encode(text, "latin-1")


SHARED_VARIABLES = (
    "theano.tensor.sharedvar.TensorSharedVariable",
    "theano.sandbox.cuda.var.CudaNdarraySharedVariable",
)
NAMES: dict[str, Any] = {
    **dict.fromkeys(SHARED_VARIABLES, _Object),
    "theano.tensor.type.TensorType": _Object,
    "theano.sandbox.cuda.type.CudaNdarrayType": _Object,
    "theano.sandbox.cuda.type.CudaNdarray_unpickler": lambda value: value,
    "theano.gof.link.Container": _Object,
    "theano.gof.utils.scratchpad": _Object,
    **dict.fromkeys(("copy_reg._reconstructor", "copyreg._reconstructor"), lambda kind, *_: kind()),
    **dict.fromkeys(("__builtin__.object", "builtins.object"), _Object),
    "_codecs.encode": _encode,
    "numpy.ndarray": _Array,
    "numpy.dtype": _NumberType,
    **{
        f"numpy.{core}.{name}": made
        for core in ("core", "_core")
        for name, made in (
            ("multiarray._reconstruct", _Array),
            ("numeric._frombuffer", _make_array),
        )
    },
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return NAMES[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in the file") from None


@dataclass(frozen=True)
class TheanoFile:
    """Content of a Theano release."""

    arrays: list[np.ndarray]  # float32, in the order of the layers
    vocabularies: list[dict[str, int]]  # from tokens to rows, for each table. Some releases lack it

    def described(self) -> str:
        lines = [f"{n}: array {array.shape}" for n, array in enumerate(self.arrays)]
        lines += [f"vocabulary of {len(words):,}" for words in self.vocabularies]
        return "\n  ".join(lines)


def read_theano(path: str | Path) -> TheanoFile:
    """Read a Theano release without running any code that it names."""
    path = Path(path)
    with refused(DataError, f"Cannot read {path}, a Theano release"), path.open("rb") as file:
        values = _Unpickler(file, encoding="latin-1").load()
    if not isinstance(values, list) or not values:
        raise DataError(
            f"{path} contains a {type(values).__name__}, not the arrays of a Theano release"
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


def check_numbers(array: Any, place: str) -> np.ndarray:
    """Return an array of floats as float32, if it is not empty and all numbers are finite."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not array.size:
        raise DataError(f"{place} is not an array of floats, before up to two vocabularies")
    with np.errstate(over="ignore"):
        whole = np.asarray(array, np.float32)
    if not np.isfinite(whole).all():
        raise DataError(f"{place} has numbers that are not finite in float32. The model is broken")
    return whole


def check_vocabulary(vocabulary: Any, place: str) -> None:
    """Raise a `DataError` unless a vocabulary maps text to distinct rows."""
    is_good = (
        isinstance(vocabulary, dict)
        and all(isinstance(token, str) for token in vocabulary)
        and all(type(row) is int and row >= 0 for row in vocabulary.values())
        and len(set(vocabulary.values())) == len(vocabulary)
    )
    if not is_good:
        raise DataError(f"{place} contains a vocabulary that does not map tokens to distinct rows")


def _array(value: Any) -> np.ndarray | None:
    if isinstance(value, _Object):
        storage = getattr(getattr(value, "container", None), "storage", None)
        value = storage[0] if isinstance(storage, list) and len(storage) == 1 else None
    return value.numbers if isinstance(value, _Array) else None
