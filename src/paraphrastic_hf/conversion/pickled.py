"""The names that a pickle of a released model may use, and the values made of them.

`conversion/unpickle.py` reads the pickles. Each allowed name has a function here, which looks at the
arguments in the file and makes a value: a numpy array of numbers, an ordered dict, a namespace of
argparse or a set. None of these functions runs what a file says. Byte strings of Python 2 become
text by Latin-1, which loses nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_LEVELS = 64  # how deep containers may be nested; released files have 4 levels
KEY_TYPES = (str, bytes, int, float, type(None))
NUMBER_TYPE = re.compile(r"[<>=|]?(?:[iu][1248]|f[248]|b1)")

Calls = Mapping[str, Callable[..., Any]]


class UnexpectedPickle(Exception):
    """A pickle holds something that no released file holds in that place."""


@dataclass(frozen=True)
class Name:
    """The name of a class or function in a pickle; nothing of that name was looked up."""

    text: str


class Record:
    """An object of another program: the name of its class and its attributes, without methods."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: Any = None


class OrderedMapping(dict):
    """A dict that was a `collections.OrderedDict` when it was pickled."""


class NumberType:
    """A numpy type that is being read; its byte order follows its name in the file."""

    def __init__(self, code: Any, align: Any = False, copy: Any = True) -> None:
        if not NUMBER_TYPE.fullmatch(str(code)):
            raise UnexpectedPickle(f"an array of type {str(code)[:40]!r}, not of numbers")
        self.dtype = np.dtype(code)

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 5 or any(x is not None for x in state[2:5]):
            raise UnexpectedPickle("an array type with fields")
        if state[1] not in ("<", ">", "=", "|"):
            raise UnexpectedPickle(f"an array type of byte order {state[1]!r}")
        self.dtype = self.dtype.newbyteorder(state[1])


class Array:
    """A numpy array that is being read; its numbers follow its class in the file."""

    def __init__(self, array_type: Any, shape: Any, code: Any) -> None:
        if array_type != Name("numpy.ndarray"):
            raise UnexpectedPickle(f"an array of the class {shown(array_type)}")
        self.value: np.ndarray | None = None

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise UnexpectedPickle("an array whose state is not five values")
        _, shape, dtype, is_fortran, data = state
        self.value = make_array(data, dtype, shape, "F" if is_fortran else "C")


def make_array(data: Any, dtype: Any, shape: Any, order: Any = "C") -> np.ndarray:
    """Make an array of numbers of `data`, which must be as long as `shape` says."""
    if isinstance(data, str):
        data = data.encode("latin-1")
    if not isinstance(dtype, NumberType) or not isinstance(data, bytes | bytearray):
        raise UnexpectedPickle("an array of anything but numbers")
    shape = check_sizes(shape)
    if math.prod(shape) * dtype.dtype.itemsize != len(data):
        raise UnexpectedPickle(f"{len(data):,} bytes for an array of shape {shape}")
    return np.frombuffer(data, dtype.dtype).reshape(shape, order="F" if order == "F" else "C")


def make_mapping(pairs: Any = ()) -> OrderedMapping:
    """Make an ordered dict of pairs of a key and a value."""
    mapping = OrderedMapping()
    add_items(mapping, [part for key, value in pairs for part in (key, value)])
    return mapping


def make_set(values: Any) -> set[Any]:
    """Make a set of text and numbers."""
    return {check_key(value) for value in values}


def make_record(name: str) -> Callable[..., Record]:
    """Make the function that makes records of one class; it takes no arguments."""

    def make() -> Record:
        return Record(name)

    return make


def only_a_name(*arguments: Any) -> Any:
    """Refuse to call a name that may stand in a file only as an argument."""
    raise UnexpectedPickle("a call of what is only a name")


def _make_number(dtype: Any, data: Any) -> Any:
    return make_array(data, dtype, ()).item()


def _make_bytes(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):  # how Python 3 writes bytes for Python 2
        raise UnexpectedPickle(f"text in the encoding {str(encoding)[:40]!r}")
    return text.encode("latin-1")


def _no_bytes() -> bytes:
    return b""


RECONSTRUCTORS = ("copy_reg._reconstructor", "copyreg._reconstructor")
CALLS: Calls = {
    "collections.OrderedDict": make_mapping,
    "argparse.Namespace": make_record("argparse.Namespace"),
    **dict.fromkeys(RECONSTRUCTORS, only_a_name),  # `unpickle.py` does what they say
    "__builtin__.object": only_a_name,
    "builtins.object": only_a_name,
    **dict.fromkeys(
        ("__builtin__.set", "builtins.set", "__builtin__.frozenset", "builtins.frozenset"), make_set
    ),
    "__builtin__.bytes": _no_bytes,
    "builtins.bytes": _no_bytes,
    "_codecs.encode": _make_bytes,
    "numpy.ndarray": only_a_name,
    "numpy.dtype": NumberType,
    **{
        f"numpy.{core}.{name}": function
        for core in ("core", "_core")
        for name, function in (
            ("multiarray._reconstruct", Array),
            ("multiarray.scalar", _make_number),
            ("numeric._frombuffer", make_array),
        )
    },
}


def add_items(mapping: dict[Any, Any], values: Sequence[Any]) -> None:
    """Add keys and their values to a dict, from a list in which the two alternate."""
    if len(values) % 2:
        raise UnexpectedPickle("a key without value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        mapping[check_key(key)] = value


def check_key(key: Any) -> Any:
    """Return a key if it is text, a number or a flat tuple of these.

    To hash a deep tuple would take hours or crash the process.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, KEY_TYPES) for part in parts):
        raise UnexpectedPickle(f"the key {shown(key)}")
    return key


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """Return a tuple if it holds nothing but whole numbers of at least 0."""
    if not isinstance(sizes, tuple) or not all(type(n) is int and n >= 0 for n in sizes):
        raise UnexpectedPickle("a shape that is not whole numbers")
    return sizes


def shown(value: Any) -> str:
    """Name a value in a message without showing its contents."""
    return value.text if isinstance(value, Name) else f"a {type(value).__name__}"


def settle(value: Any) -> Any:
    """Put arrays in place of what stood for them while the pickle was read.

    A record of `argparse.Namespace` becomes the dict of its attributes; other records stay.

    Raises:
        UnexpectedPickle: Containers are nested deeper than `MOST_LEVELS` or within themselves, or
            an array has no numbers.
    """
    return _settle(value, {}, 0)


def _settle(value: Any, done: dict[int, Any], level: int) -> Any:
    if isinstance(value, KEY_TYPES):
        return value
    if id(value) in done:  # a shared part is done once, or shared parts could multiply
        return done[id(value)]
    if level > MOST_LEVELS:
        raise UnexpectedPickle(f"containers nested deeper than {MOST_LEVELS}")
    result = value
    if isinstance(value, Array):
        if value.value is None:
            raise UnexpectedPickle("an array without numbers")
        result = value.value
    elif isinstance(value, NumberType):
        result = str(value.dtype)
    elif isinstance(value, dict):
        result = {key: _settle(item, done, level + 1) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        result = type(value)(_settle(item, done, level + 1) for item in value)
    elif isinstance(value, Record):
        value.state = _settle(value.state, done, level + 1)
        result = value.state if value.name == "argparse.Namespace" else value
    done[id(value)] = result
    return result
