"""Files of releases give their arrays without running code."""

import argparse
import contextlib
import copyreg
import functools
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf.conversion.paired import read_torch
from paraphrastic_hf.conversion.theano_file import NAMES, read_theano
from paraphrastic_hf.errors import DataError
from tests.conversion.released import save_torch as save


def read(folder, content):
    path = folder / "model.pickle"
    path.write_bytes(content)
    return read_theano(path)


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_and_vocabularies_are_read(protocol, tmp_path):
    table = np.random.default_rng(0).normal(size=(4, 6))
    arrays = [
        table.astype(kind)[cut]
        for kind in ("f2", "f4", "f8", ">f4")
        for cut in (np.s_[:], np.s_[:, ::2], np.s_[0])
    ]
    arrays.append(np.asfortranarray(table))
    words = {"été": 0, "日本": 2, "": 1}
    found = read(tmp_path, pickle.dumps([*arrays, words], protocol))
    assert found.vocabularies == [words]
    for ours, given in zip(found.arrays, arrays, strict=True):
        np.testing.assert_array_equal(ours, given.astype(np.float32))


def test_byte_strings_of_python_2_are_read(tmp_path):
    # Python 2's cPickle of [numpy.array([1.5], 'f4'), {'UUUNKKK': 0, u'\xe9': 1}]
    data = struct.pack("<f", 1.5)
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85U\x01b\x87R"
    state = b"(K\x01K\x01\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xff"
    state += b"J\xff\xff\xff\xffK\x00tb\x89U" + bytes([len(data)]) + data + b"tb"
    words = b"}(U\x07UUUNKKKK\x00X\x02\x00\x00\x00\xc3\xa9K\x01u"
    found = read(tmp_path, b"\x80\x02](" + array + state + words + b"e.")
    np.testing.assert_array_equal(found.arrays, [[1.5]])
    assert found.vocabularies == [{"UUUNKKK": 0, "é": 1}]


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


RUN = "ran"  # file that a successful attack writes
SYSTEM = Calls(os.system, f"touch {RUN}")
ATTACKS = {
    "os.system": SYSTEM,
    "eval": Calls(eval, f"open({RUN!r}, 'w')"),
    "exec": Calls(exec, f"open({RUN!r}, 'w')"),
    "open": Calls(open, RUN, "w"),
    "import": Calls(__import__, "os"),
    "getattr": Calls(getattr, [], "__class__"),
    "copyreg": Calls(copyreg._reconstructor, os._wrap_close, object, None),
    "a pickle inside": Calls(pickle.loads, pickle.dumps(SYSTEM)),
    "an array of objects": np.array([SYSTEM], dtype=object),
    "a structured array": np.zeros(2, dtype=[("a", "f4"), ("b", "O")]),
    "a class": Path("x"),
    "partial": Calls(functools.partial, print),
    "inside a container": OrderedDict(a=[(SYSTEM,)]),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ATTACKS)
def test_calls_are_refused_and_not_run(name, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as refused:
        read(tmp_path, pickle.dumps([np.zeros(2), ATTACKS[name]], protocol))
    assert not Path(RUN).exists()
    assert name != "os.system" or ".system" in str(refused.value)


OBJECT = b"ctheano.gof.link\nContainer\n"
DTYPE = b"cnumpy\ndtype\n(S'f4'\nI0\nI1\ntR"
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
TRICKS = {
    "a state for a class": OBJECT + b"}S'__init__'\nI1\nsb.",
    "attributes for a class": OBJECT + b"(}}S'__setstate__'\nI1\nstb.",
    "attributes for numpy's class": b"cnumpy\ndtype\n(}}S'__setstate__'\nI1\nstb.",
    "a call of text": b"S'eval'\n(S'1'\ntR.",
    "INST": b"(S'touch ran'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'touch ran'\no.",
    "a name made on the stack": b"\x80\x04X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93.",
    "a dotted name": b"\x80\x04ctheano.gof.link\nContainer.__init__.__globals__\n.",
    "an extension": b"\x82\x01.",
    "a buffer from outside": b"\x97.",
    "a persistent id": b"Pabc\n.",
    "a data type of pointers": b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
    "an object as a data type": ARRAY + b"(I1\n(I1\nt" + OBJECT + b")R}S'dtype'\nS'O'\nsbI00\nS'"
    b"abcdefgh'\ntb.",
    "a data type changed to pointers": b"](" + ARRAY + b"(I1\n(I1\nt" + DTYPE + b"(I3\nS'|'\nNNN"
    b"I-1\nI-1\nI63\ntbI00\n(S'a'\nltbe.",
    "an array longer than its bytes": ARRAY + b"(I1\n(I9\nt" + DTYPE + b"I00\nS'abcd'\ntb.",
    "an array without its numbers": b"](" + ARRAY + b"e.",
    "cut short": pickle.dumps([np.zeros(2)])[:-3],
    "text": b"the 0.5 0.25\n",
    "empty": b"",
    "a huge length": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
}


@pytest.mark.parametrize("name", TRICKS)
def test_crafted_and_damaged_pickles_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {key: dict(vars(made)) for key, made in NAMES.items()}
    with pytest.raises(DataError):
        read(tmp_path, TRICKS[name])
    assert not Path(RUN).exists()
    assert {key: dict(vars(made)) for key, made in NAMES.items()} == before


def test_every_prefix_and_flipped_byte_is_read_or_refused(tmp_path):
    whole = pickle.dumps([np.ones((3, 2), np.float32), {"a": 0, "b": 1, "UUUNKKK": 2}], 2)
    for place in range(len(whole)):
        flipped = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        for content in (whole[:place], flipped):
            with contextlib.suppress(DataError):
                read(tmp_path, content)


BOTH = pytest.mark.parametrize("is_zip", [True, False])


@BOTH
def test_checkpoints_are_read(is_zip, tmp_path):
    module = torch.nn.LSTM(3, 4, bidirectional=True)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(2, 1, 3))[0].sum().backward()
    optimizer.step()
    value = {
        "state_dict": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "args": argparse.Namespace(dim=3, sp_model="sp.model"),
        "vocab": {"▁the": 0, "été": 1},
    }
    found = read_torch(save(tmp_path / "m.pt", value, is_zip))
    assert (found["args"], found["vocab"]) == (value["args"], value["vocab"])
    torch.testing.assert_close(found["state_dict"], value["state_dict"], rtol=0, atol=0)


@BOTH
@pytest.mark.parametrize("name", [*ATTACKS, "a module", "inside args"])
def test_calls_in_checkpoints_are_refused(name, is_zip, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = {
        "a module": torch.nn.Linear(2, 2),
        "inside args": argparse.Namespace(a=ATTACKS["os.system"]),
    }
    path = save(tmp_path / "m.pt", {"state_dict": {**ATTACKS, **others}[name]}, is_zip)
    with pytest.raises(DataError):
        read_torch(path)
    assert not Path(RUN).exists()


def test_damaged_and_other_files_are_refused(tmp_path):
    path = tmp_path / "m.pt"
    wholes = [
        save(path, {"a": torch.full((9,), 1.5)}, is_zip).read_bytes() for is_zip in (True, False)
    ]
    damaged = [whole[:size] for whole in wholes for size in range(0, len(whole) - 1, 7)]
    number = b"\0\0\xc0\x3f" * 9
    assert wholes[0].count(number) == 1
    damaged.append(wholes[0].replace(number, b"\0\0\xc0\x40" * 9))
    for members in (["m/data.pkl", "m/constants.pkl"], ["model.pt"]):
        with zipfile.ZipFile(path, "w") as archive:
            for name in members:
                archive.writestr(name, b"N.")
        damaged.append(path.read_bytes())
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(DataError):
            read_torch(path)
