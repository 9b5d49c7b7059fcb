"""What may stand in a pickle of a released model, and the values it becomes (`data/unpickle.py`).

Each name that a pickle may use has a function here that looks at its arguments and makes a value:
numpy arrays of numbers, ordered dicts, argparse's namespaces, sets. None of them runs what a file
says. Python 2's byte strings are text by Latin-1, which loses nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_LEVELS = 64  # of containers in containers; released files have 4
KEY_TYPES = (str, bytes, int, float, type(None))
NUMBER_TYPE = re.compile(r"[<>=|]?(?:[iu][1248]|f[248]|b1)")

Calls = Mapping[str, Callable[..., Any]]


class UnexpectedPickle(Exception):
    """What stands in a pickle is not what a released file holds there."""


@dataclass(frozen=True)
class Name:
    """A class or function that a pickle names; nothing was looked up."""

    text: str


class Record:
    """An object of another program: its class's name and its attributes, and no behaviour."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: Any = None


class OrderedMapping(dict):
    """What was a `collections.OrderedDict`."""


class NumberType:
    """A numpy type while it is read: its byte order comes later."""

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
    """A numpy array while it is read: its numbers come later."""

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
    """An array of numbers over `data`, which must be as long as `shape` says."""
    if isinstance(data, str):
        data = data.encode("latin-1")
    if not isinstance(dtype, NumberType) or not isinstance(data, bytes | bytearray):
        raise UnexpectedPickle("an array of anything but numbers")
    shape = check_sizes(shape)
    if math.prod(shape) * dtype.dtype.itemsize != len(data):
        raise UnexpectedPickle(f"{len(data):,} bytes for an array of shape {shape}")
    return np.frombuffer(data, dtype.dtype).reshape(shape, order="F" if order == "F" else "C")


def make_mapping(pairs: Any = ()) -> OrderedMapping:
    """What was an ordered dict of pairs."""
    mapping = OrderedMapping()
    add_items(mapping, [part for key, value in pairs for part in (key, value)])
    return mapping


def make_set(values: Any) -> set[Any]:
    """A set of keys."""
    return {check_key(value) for value in values}


def make_record(name: str) -> Callable[..., Record]:
    """What makes records of one class, which are made without arguments."""

    def make() -> Record:
        return Record(name)

    return make


def only_a_name(*arguments: Any) -> Any:
    """For names that may stand in a file but make nothing."""
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
    **dict.fromkeys(RECONSTRUCTORS, only_a_name),  # `unpickle.py` sees to them
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
    """Add keys and values, which take turns."""
    if len(values) % 2:
        raise UnexpectedPickle("a key without value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        mapping[check_key(key)] = value


def check_key(key: Any) -> Any:
    """Text and numbers, or tuples of them: hashing a deep tuple would exhaust the stack."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, KEY_TYPES) for part in parts):
        raise UnexpectedPickle(f"the key {shown(key)}")
    return key


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """A tuple of whole numbers from 0 on."""
    if not isinstance(sizes, tuple) or not all(type(n) is int and n >= 0 for n in sizes):
        raise UnexpectedPickle("a shape that is not whole numbers")
    return sizes


def shown(value: Any) -> str:
    """A value for a message, without its contents."""
    return value.text if isinstance(value, Name) else f"a {type(value).__name__}"


def settle(value: Any) -> Any:
    """A value with arrays and records in place of what stood for them while it was read.

    A record of `argparse.Namespace` becomes the dict of its attributes; others stay.

    Raises:
        UnexpectedPickle: Containers are nested deeper than `MOST_LEVELS`, or in themselves.
    """
    return _settle(value, {}, 0)


def _settle(value: Any, done: dict[int, Any], level: int) -> Any:
    if isinstance(value, KEY_TYPES):
        return value
    if id(value) in done:  # shared parts once, or they could multiply
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
