"""Pickles read as data: nothing in them is imported and nothing is called.

`pickle.load` builds whatever a file names by calling it, so a file can run anything. Here the
opcodes of protocols 0 to 5 are followed by this module itself. Containers, text and numbers are
made as they stand, and the name of a class or function stays a name. Only names in a table
(`conversion/pickled.py`, and what a caller adds) become values, by functions of this package; any other
name ends the reading. Sizes are held against the file's own, so a short file cannot ask for much.

This is our own reader because a `pickle.Unpickler` with an allow-list cannot be made as safe. One
of 53 lines read every released kind of file and refused every call, but three files without a
single name still stopped the process: a dict key of a million nested tuples (1 MB) crashed it, a
key of 40 tuples that each hold the last one twice (208 bytes) takes hours to hash (0.5 s at 24,
twice that a level), and one `LONG_BINPUT` (9 bytes) takes 1.5 GB, or up to 64. Whether a tuple will
be a key cannot be told without following the opcodes. `torch.load(weights_only=True)` of torch 2.13
falls to the first two as well. This reader refuses the two keys and allocates nothing for the
third: it peaks at 76 MB.
"""

from __future__ import annotations

import codecs
import pickletools
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

from paraphrastic_hf.conversion.pickled import (
    CALLS,
    RECONSTRUCTORS,
    Array,
    Calls,
    Name,
    NumberType,
    OrderedMapping,
    Record,
    UnexpectedPickle,
    add_items,
    make_set,
    settle,
    shown,
)
from paraphrastic_hf.errors import DataError

LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
}
SAME = {"BINPUT": "put", "LONG_BINPUT": "put", "BINGET": "get", "LONG_BINGET": "get"}
NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
DAMAGE = (
    AssertionError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)


class PickleReader:
    """Reads one pickle after another from a file.

    Args:
        file: A file that stands at the first opcode. Its `read` must not allocate more than the
            file holds; give a memory map or `io.BytesIO`.
        place: What messages call the file.
        calls: Names beyond those of `CALLS`, each with the function that makes a value of the
            arguments in the file.
        persistent: Makes a value of a persistent id, which is how torch refers to numbers
            elsewhere in the file. Without it, such a reference is refused.

    Example:
        >>> import io, pickle
        >>> PickleReader(io.BytesIO(pickle.dumps({"a": [1, 2]})), "example").read()
        {'a': [1, 2]}
    """

    def __init__(
        self,
        file: BinaryIO,
        place: str,
        *,
        calls: Calls | None = None,
        persistent: Callable[[Any], Any] | None = None,
    ) -> None:
        self._file = file
        self._place = place
        self._calls = {**CALLS, **(calls or {})}
        self._persistent = persistent
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._steps = {
            opcode.code.encode("latin-1"): (_argument_reader(opcode), self._step(opcode.name))
            for opcode in pickletools.opcodes
        }

    def read(self) -> Any:
        """Read the next pickle of the file.

        Returns:
            Its value, of lists, tuples, sets, dicts, text, numbers, numpy arrays, and what the
            functions of `calls` make.

        Raises:
            DataError: The pickle holds a name or an opcode that is not allowed, is cut short, or
                makes no sense.
        """
        self._stack, self._marks, self._memo = [], [], {}
        start = self._file.tell()
        try:
            while (code := self._file.read(1)) != b".":
                read_argument, step = self._steps[code]
                step(read_argument(self._file))
            return settle(self._stack.pop())
        except UnexpectedPickle as error:
            raise DataError(
                f"{self._place} holds {error}, which no released model needs; it was not used. If "
                "you trust the file, load it with the program that made it and save its arrays and "
                "vocabulary alone"
            ) from error
        except DAMAGE as error:
            raise DataError(
                f"{self._place} is no whole pickle: {type(error).__name__} at byte "
                f"{self._file.tell():,}, in the one from byte {start:,} on ({str(error)[:80]}); "
                "give the file as it was released, complete and unpacked"
            ) from error

    def _step(self, opcode: str) -> Callable[[Any], None]:
        """The function that does what an opcode says with its argument."""
        if opcode in LITERALS:
            return lambda value: self._stack.append(value)
        if opcode in NEW:
            return lambda _: self._stack.append(NEW[opcode]())
        if opcode.startswith("TUPLE") and opcode != "TUPLE":
            return lambda _: self._tuple_of(int(opcode[-1]))
        name = SAME.get(opcode, opcode.lower())
        return getattr(self, f"_{name}", _refuse(opcode))

    def _proto(self, version: int) -> None:
        if version > 5:
            raise UnexpectedPickle(f"protocol {version}")

    def _frame(self, size: int) -> None:
        """Frames only help a reader that buffers, so their sizes are not needed."""

    def _mark(self, _: None) -> None:
        self._marks.append(len(self._stack))

    def _since_mark(self, _: None = None) -> list[Any]:
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def _pop_mark(self, _: None) -> None:
        self._since_mark()

    def _pop(self, _: None) -> None:
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._stack.pop()

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _memoize(self, _: None) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    def _list(self, _: None) -> None:
        self._stack.append(self._since_mark())

    def _tuple(self, _: None) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _tuple_of(self, count: int) -> None:
        values = tuple(self._stack.pop() for _ in range(count))
        self._stack.append(values[::-1])

    def _frozenset(self, _: None) -> None:
        self._stack.append(make_set(self._since_mark()))

    def _dict(self, _: None) -> None:
        values = self._since_mark()
        self._stack.append({})
        add_items(self._stack[-1], values)

    def _append(self, _: None) -> None:
        value = self._stack.pop()
        self._top(list).append(value)

    def _appends(self, _: None) -> None:
        values = self._since_mark()
        self._top(list).extend(values)

    def _additems(self, _: None) -> None:
        values = self._since_mark()
        self._top(set).update(make_set(values))

    def _setitem(self, _: None) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        add_items(self._top(dict), [key, value])

    def _setitems(self, _: None) -> None:
        values = self._since_mark()
        add_items(self._top(dict), values)

    def _top(self, kind: type) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise UnexpectedPickle(f"items of a {kind.__name__} for {shown(self._stack[-1])}")
        return self._stack[-1]

    def _global(self, words: str) -> None:
        self._push_name(*words.split(" ", 1))

    def _stack_global(self, _: None) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._push_name(module, name)

    def _push_name(self, module: Any, name: Any) -> None:
        text = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "?"
        if text not in self._calls:
            raise UnexpectedPickle(f"the name {text[:100]}")
        self._stack.append(Name(text))

    def _reduce(self, _: None) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        self._call(function, arguments)

    _newobj = _reduce

    def _inst(self, words: str) -> None:
        arguments = tuple(self._since_mark())
        self._global(words)
        self._call(self._stack.pop(), arguments)

    def _obj(self, _: None) -> None:
        function, *arguments = self._since_mark()
        self._call(function, tuple(arguments))

    def _call(self, function: Any, arguments: Any) -> None:
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise UnexpectedPickle(f"a call of {shown(function)}")
        if function.text in RECONSTRUCTORS:  # the class, its base in C, and what the base holds
            if len(arguments) != 3 or not isinstance(arguments[0], Name) or arguments[2]:
                raise UnexpectedPickle("an object that is text or a number underneath")
            function, arguments = arguments[0], ()
        try:
            self._stack.append(self._calls[function.text](*arguments))
        except (TypeError, ValueError, OverflowError) as error:
            raise UnexpectedPickle(f"{function.text} with other arguments ({error})") from error

    def _build(self, _: None) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, Array | NumberType):
            target.set_state(state)
        elif isinstance(target, Record) and isinstance(state, dict):
            target.state = state
        elif not (
            isinstance(target, OrderedMapping)
            and isinstance(state, dict)
            and set(state) == {"_metadata"}  # versions of torch's modules
        ):
            raise UnexpectedPickle(f"a state for {shown(target)}")

    def _persid(self, value: Any) -> None:
        if self._persistent is None:
            raise UnexpectedPickle("a reference to something outside it")
        self._stack.append(self._persistent(value))

    def _binpersid(self, _: None) -> None:
        self._persid(self._stack.pop())


def _argument_reader(opcode: Any) -> Callable[[BinaryIO], Any]:
    if opcode.name == "STRING":  # pickletools' own knows ASCII only
        return _read_quoted
    return opcode.arg.reader if opcode.arg else lambda file: None


def _refuse(opcode: str) -> Callable[[Any], None]:
    def refuse(_: Any) -> None:
        raise UnexpectedPickle(f"the opcode {opcode}")

    return refuse


def _read_quoted(file: BinaryIO) -> str:
    """A byte string of protocol 0: it stands in quotes, with escapes, and ends with its line."""
    line = file.readline()
    if not line.endswith(b"\n") or line[:1] not in (b"'", b'"') or line[:1] != line[-2:-1]:
        raise ValueError("text without its quotes")
    unescaped: Any = codecs.escape_decode(line[1:-2])[0]  # type: ignore[attr-defined]
    return str(unescaped.decode("latin-1"))
