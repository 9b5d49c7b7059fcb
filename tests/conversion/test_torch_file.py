"""Files of torch.save give their tensors without running code."""

import argparse
import zipfile
from pathlib import Path

import pytest
import torch

from paraphrastic_hf.conversion.paired import read_torch
from paraphrastic_hf.errors import DataError
from tests.conversion.released import save_torch as save
from tests.corpora.test_theano_file import ATTACKS, RUN

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
def test_calls_are_refused_and_not_run(name, is_zip, tmp_path, monkeypatch):
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
