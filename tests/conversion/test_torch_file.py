"""Files of torch.save are read without torch; what holds more than tensors is refused."""

from __future__ import annotations

import argparse
import collections
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from paraphrastic_hf.conversion.torch_file import StoredTensor, read_torch
from paraphrastic_hf.errors import DataError

BOTH = pytest.mark.parametrize("is_zip", [True, False])


def save(path: Path, value: Any, is_zip: bool = True) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=is_zip)
    return path


@BOTH
def test_tensors_and_what_stands_beside_them_come_through(tmp_path: Path, is_zip: bool) -> None:
    module = torch.nn.LSTM(3, 4, bidirectional=True)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(2, 1, 3))[0].sum().backward()
    optimizer.step()
    shared = torch.arange(12.0)
    value = {
        "state_dict": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "args": argparse.Namespace(dim=3, sp_model="sp.model"),
        "vocab": {"▁the": 0, "été": 1},
        "parameter": module.weight_ih_l0,
        "views": [shared.view(3, 4)[1:, ::2], shared.view(3, 4).t(), shared[5], shared[:0]],
        "kinds": [
            torch.tensor([1, 0, 1]).to(kind)
            for kind in (torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)
        ],
    }
    found = read_torch(save(tmp_path / "m.pt", value, is_zip))
    assert found["args"] == {"dim": 3, "sp_model": "sp.model"}
    assert found["vocab"] == value["vocab"]
    assert list(found["state_dict"]) == list(module.state_dict())
    pairs = [(found["state_dict"][name], tensor) for name, tensor in module.state_dict().items()]
    pairs += [(found["parameter"], module.weight_ih_l0.detach())]
    pairs += zip(found["views"] + found["kinds"], value["views"] + value["kinds"], strict=True)  # type: ignore[operator]
    for ours, tensor in pairs:
        assert isinstance(ours, StoredTensor)
        np.testing.assert_array_equal(ours.numbers(), tensor.numpy())
        assert ours.numbers().dtype == tensor.numpy().dtype


class Calls:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


RUN = Path("ran")
ATTACKS = {
    "os.system": Calls(os.system, f"touch {RUN}"),
    "in the state": {"state_dict": collections.OrderedDict(a=Calls(os.system, f"touch {RUN}"))},
    "in the args": {"args": argparse.Namespace(a=Calls(exec, "1"))},
    "torch.load": Calls(torch.load, "x.pt"),
    "torch's own hub": Calls(torch.hub.load, "x", "y"),
    "a function": {"learner": torch.optim.Adam},
    "a module": torch.nn.Linear(2, 2),
}


@BOTH
@pytest.mark.parametrize("name", ATTACKS)
def test_what_would_run_is_refused(
    name: str, is_zip: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "m.pt", ATTACKS[name], is_zip)
    with pytest.raises(DataError, match=r"m.pt.* holds .*no released model needs"):
        read_torch(path)
    assert not RUN.exists()


class Crafted(pickle.Pickler):
    """Tensors as calls and persistent ids that torch would not write."""

    def persistent_id(self, value: Any) -> Any:
        return value.parts if isinstance(value, Reference) else None


class Reference:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts


def crafted(path: Path, value: Any, numbers: bytes = b"\0" * 16) -> Path:
    stream = io.BytesIO()
    Crafted(stream, 2).dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", stream.getvalue())
        archive.writestr("m/data/0", numbers)
    return path


def rebuild(*arguments: Any) -> Calls:
    return Calls(torch._utils._rebuild_tensor_v2, *arguments, False, collections.OrderedDict())


STORAGE = ("storage", torch.FloatStorage, "0", "cpu", 4)
BAD_TENSORS = {
    "strides of zero": rebuild(Reference(*STORAGE), 0, (10**6, 10**6), (0, 0)),
    "beyond its storage": rebuild(Reference(*STORAGE), 2, (3,), (1,)),
    "a negative offset": rebuild(Reference(*STORAGE), -1, (3,), (1,)),
    "a negative stride": rebuild(Reference(*STORAGE), 3, (3,), (-1,)),
    "other numbers of sizes": rebuild(Reference(*STORAGE), 0, (2, 2), (1,)),
    "no storage": rebuild([1.0], 0, (1,), (1,)),
    "a module with its source": Reference("module", torch.FloatStorage, "file.py", "code"),
    "part of another": rebuild(Reference(*STORAGE, ("0", 0, 4)), 0, (1,), (1,)),
    "another kind": rebuild(Reference("storage", "os.system", "0", "cpu", 4), 0, (1,), (1,)),
    "a negative count": rebuild(
        Reference("storage", torch.FloatStorage, "0", "cpu", -4), 0, (1,), (1,)
    ),
}


@pytest.mark.parametrize("name", BAD_TENSORS)
def test_tensors_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.pkl holds .*no released model needs"):
        read_torch(crafted(tmp_path / "m.pt", BAD_TENSORS[name]))


def test_a_storage_shorter_than_it_says_is_refused(tmp_path: Path) -> None:
    good = rebuild(Reference(*STORAGE), 0, (4,), (1,))
    np.testing.assert_array_equal(read_torch(crafted(tmp_path / "m.pt", good)).numbers(), [0] * 4)
    tensor = read_torch(crafted(tmp_path / "m.pt", good, b"\0" * 12))
    with pytest.raises(DataError, match="has 12 bytes, but the file speaks of 4 numbers"):
        tensor.numbers()


@BOTH
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, is_zip: bool) -> None:
    path = save(tmp_path / "m.pt", {"a": torch.arange(3.0)}, is_zip)
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError):
            read_torch(path)


def test_archives_of_other_things_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "script.pt", "w") as archive:
        for name in ("data.pkl", "constants.pkl", "code/m.py"):  # of TorchScript
            archive.writestr(f"m/{name}", b"N.")
    with zipfile.ZipFile(tmp_path / "folder.zip", "w") as archive:
        archive.writestr("model.pt", b"")
    with zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", b"N." + b"\0" * 10**6)
    for name, message in (
        ("script.pt", "no file of torch.save"),
        ("folder.zip", "no file of torch.save"),
        ("packed.pt", "has no uncompressed m/data.pkl"),
    ):
        with pytest.raises(DataError, match=message):
            read_torch(tmp_path / name)
    (tmp_path / "other.pt").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DataError, match=r"is a pickle, but no file of torch\.save"):
        read_torch(tmp_path / "other.pt")
