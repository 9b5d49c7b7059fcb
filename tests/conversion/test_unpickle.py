"""Pickles are data here: released files come through, anything that would run does not."""

from __future__ import annotations

import argparse
import collections
import contextlib
import copyreg
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf.conversion.pickled import MOST_LEVELS
from paraphrastic_hf.conversion.theano_file import read_theano
from paraphrastic_hf.conversion.unpickle import PickleReader
from paraphrastic_hf.errors import DataError


def read(content: bytes) -> Any:
    return PickleReader(io.BytesIO(content), "file").read()


@pytest.mark.parametrize("protocol", range(6))
def test_containers_text_numbers_and_arrays_come_through(protocol: int) -> None:
    shared = ["x"]
    value = {
        "numbers": [0, -5, 300, 70_000, 2**70, 1.5, True, False, None],
        "text": ["", "été", "日本", "a\nb'\"\\"],
        "bytes": b"\x00\xff",
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "sets": [set(), {1, "a"}, frozenset({2})],
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "namespace": argparse.Namespace(dim=300, sp_model=None),
        "shared": [shared, shared],
        ("a", 1): {},
    }
    found = read(pickle.dumps(value, protocol))
    assert found.pop("namespace") == {"dim": 300, "sp_model": None}
    assert list(found["ordered"]) == ["b", "a"]
    del value["namespace"]
    assert found == value


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", ["f2", "f4", ">f8", "i4", "u1", "b1"])
def test_arrays_come_through(protocol: int, kind: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(kind)
    values = [array, np.asfortranarray(array), array[:, ::2], array[:0], array[0, 1]]
    for found, given in zip(read(pickle.dumps(values, protocol)), values, strict=True):
        np.testing.assert_array_equal(found, given)
        assert np.asarray(found).shape == given.shape


def test_python_2_byte_strings_become_text_and_arrays() -> None:
    # what Python 2's cPickle writes for [numpy.array([1.5], 'f4'), {'UUUNKKK': 0, u'\xe9': 1}]
    data = struct.pack("<f", 1.5)
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85U\x01b\x87R"
    state = b"(K\x01K\x01\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xff"
    state += b"J\xff\xff\xff\xffK\x00tb\x89U" + bytes([len(data)]) + data + b"tb"
    words = b"}(U\x07UUUNKKKK\x00X\x02\x00\x00\x00\xc3\xa9K\x01u"
    found, vocabulary = read(b"\x80\x02](" + array + state + words + b"e.")
    np.testing.assert_array_equal(found, np.float32([1.5]))
    assert vocabulary == {"UUUNKKK": 0, "é": 1}


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


RUN = Path("ran")
ATTACKS = {
    "os.system": Calls(os.system, f"touch {RUN}"),
    "eval": Calls(eval, f"open({str(RUN)!r}, 'w')"),
    "exec": Calls(exec, f"open({str(RUN)!r}, 'w')"),
    "open": Calls(open, str(RUN), "w"),
    "import": Calls(__import__, "os"),
    "getattr": Calls(getattr, [], "__class__"),
    "copyreg nested": [Calls(copyreg._reconstructor, os._wrap_close, object, None)],  # type: ignore[attr-defined]
    "inside an ordered dict": collections.OrderedDict(a=Calls(os.system, f"touch {RUN}")),
    "numpy's own loader": Calls(np.load, "x.npy", None, True),
    "a pickle inside": Calls(pickle.loads, pickle.dumps(Calls(os.system, f"touch {RUN}"))),
    "an array of objects": np.array([Calls(os.system, f"touch {RUN}")], dtype=object),
    "a structured array": np.zeros(2, dtype=[("a", "f4")]),
    "an array subclass": np.zeros(2).view(np.recarray),
    "an array of text": np.array(["a"]),
    "a class of its own": Path("x"),
    "partial": Calls(__import__("functools").partial, print),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ATTACKS)
def test_what_would_run_is_refused(
    name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps([np.zeros(2), ATTACKS[name]], protocol))
    with pytest.raises(DataError, match=r"model.pickle holds .* no released model needs"):
        read_theano(path)
    assert not RUN.exists()


def test_the_refused_name_is_said() -> None:
    with pytest.raises(DataError, match=r"the name (posix|nt)\.system"):
        read(pickle.dumps(Calls(os.system, "true")))
    with pytest.raises(DataError, match=r"the name builtins\.getattr"):
        read(pickle.dumps(Calls(getattr, 1, "x")))


ALLOWED = b"cargparse\nNamespace\n"
DTYPE = b"cnumpy\ndtype\n(S'f4'\nI0\nI1\ntR"
EMPTY_ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
TRICKS = {
    "a state for a name": ALLOWED + b"}S'__init__'\nI1\nsb.",
    "slots for a name": ALLOWED + b"(}}S'__setstate__'\nI1\nstb.",
    "a state for a list": b"]}S'append'\nI1\nsb.",
    "a state for an ordered dict": b"ccollections\nOrderedDict\n)R}S'__class__'\nI1\nsb.",
    "a call of text": b"S'eval'\n(S'1'\ntR.",
    "a call with keywords": b"\x80\x04cargparse\nNamespace\n)}X\x01\x00\x00\x00aK\x01s\x92.",
    "a call of a base class": b"c__builtin__\nobject\n)R.",
    "an unknown base": b"ccopy_reg\n_reconstructor\n(cargparse\nNamespace\nc__builtin__\n"
    b"object\n]I1\natR.",
    "INST": b"(S'true'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'true'\no.",
    "a name made on the stack": b"\x80\x04X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93.",
    "a name that is no text": b"\x80\x04K\x01K\x02\x93.",
    "a dotted name": b"cargparse\nNamespace.__init__.__globals__\n.",
    "an extension": b"\x82\x01.",
    "a buffer from outside": b"\x97.",
    "a persistent id": b"Pabc\n.",
    "an array longer than its bytes": EMPTY_ARRAY
    + b"(I1\n(I1000000000\nI1000000000\nt"
    + DTYPE
    + b"I00\nS'abcd'\ntb.",
    "an array of negative size": EMPTY_ARRAY + b"(I1\n(I-1\nI-1\nt" + DTYPE + b"I00\nS'abcd'\ntb.",
    "an array without its state": EMPTY_ARRAY + b".",
    "a key that is a list": b"}]I1\ns.",
    "a key of deep tuples": b"}" + b")" + b"\x85" * 100_000 + b"I1\ns.",
    "a key of tuples that double at each level": b"})" + b"q\x00h\x00\x86" * 60 + b"I1\ns.",
    "a container in itself": b"]q\x00h\x00a.",
    "deep lists": b"]" * 100_000 + b"a" * 99_999 + b".",
    "a protocol from the future": b"\x80\x09N.",
}


@pytest.mark.parametrize("name", TRICKS)
def test_tricks_with_opcodes_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="file holds"):
        read(TRICKS[name])


DAMAGED = {
    "cut short": pickle.dumps([1, 2, "three"])[:-3],
    "no pickle": b"the 0.5 0.25\n",
    "empty": b"",
    "an empty stack": b"0.",
    "a missing memo": b"h\x07.",
    "no mark": b"t.",
    "a huge text": b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"abc.",
    "a huge byte string": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
    "a huge number": b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"\x01.",
    "a huge decimal": b"I" + b"9" * 10_000 + b"\n.",
    "a negative length": b"T" + struct.pack("<i", -1) + b".",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_and_sizes_beyond_the_file_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="file is no whole pickle"):
        read(DAMAGED[name])


def test_a_far_memo_takes_no_room() -> None:
    assert (
        read(b"]r" + struct.pack("<I", 2**32 - 1) + b"j" + struct.pack("<I", 2**32 - 1) + b"0.")
        == []
    )


def test_shared_parts_do_not_multiply() -> None:
    value: Any = []
    for _ in range(MOST_LEVELS - 1):
        value = [value, value]  # 2**63 parts if each were made anew
    found = read(pickle.dumps(value))
    assert found[0] is found[1]


def test_every_prefix_and_flipped_byte_of_a_release_is_data_or_refused(tmp_path: Path) -> None:
    values = [np.arange(6, dtype=np.float32).reshape(3, 2), {"a": 0, "b": 1, "UUUNKKK": 2}]
    whole = pickle.dumps(values, 2)
    for place in range(len(whole)):
        for content in (
            whole[:place],
            whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :],
        ):
            with contextlib.suppress(DataError):
                read(content)
