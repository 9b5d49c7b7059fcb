"""Checkpoints restore training bit for bit, and damage costs at most one checkpoint."""

import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from paraphrastic_hf.errors import CheckpointError
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.training.contrastive.recipe import ContrastiveTraining
from paraphrastic_hf.training.engine import checkpoint
from paraphrastic_hf.training.engine.checkpoint import (
    list_checkpoints,
    load_latest,
    load_weights,
    optimizer_tensors,
    save_checkpoint,
    save_weights,
)
from paraphrastic_hf.training.engine.optimization import make_optimizer
from paraphrastic_hf.training.engine.row_adam import RowAdam

FILES = ["model.safetensors", "optimizer.safetensors", "state.json"]


class Run:
    """Training of a small model, with batches that depend only on the step."""

    def __init__(self, optimizer: str = "adam", seed: int = 0, vocab_size: int = 20) -> None:
        torch.manual_seed(seed)
        self.model = AveragingModel(AveragingConfig(vocab_size=vocab_size, hidden_size=4)).train()
        self.model.embedding.sparse = True
        self.optimizer = make_optimizer(
            self.model, ContrastiveTraining(optimizer=optimizer, learning_rate=0.05)
        )

    def train(self, first: int, last: int) -> None:
        for step in range(first, last):
            generator = torch.Generator().manual_seed(step)
            ids = (torch.rand(3, 4, generator=generator) ** 3 * 20).long()
            self.model(ids, pooled_only=True).sentence_embedding.square().sum().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def save(self, root: Path, step: int, keep: int = 5, **state: Any) -> None:
        if isinstance(self.optimizer, RowAdam):
            self.optimizer.catch_up()
        save_checkpoint(root, step, self.model, self.optimizer, state, keep)

    def load(self, root: Path) -> dict[str, Any] | None:
        return load_latest(root, self.model, self.optimizer)

    def table(self) -> torch.Tensor:
        return self.model.embedding.weight.detach().clone()


def saved_run(root: Path) -> Run:
    run = Run()
    for step in (5, 10):
        run.train(step - 5, step)
        run.save(root, step, note=f"at {step}")
    return run


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_checkpoint_is_restored_bit_for_bit(optimizer, tmp_path):
    run, fresh = Run(optimizer), Run(optimizer, seed=1)
    run.train(0, 7)
    run.save(tmp_path, 7, epoch=2, best=0.5)
    state = fresh.load(tmp_path)
    assert (state["step"], state["epoch"], state["best"]) == (7, 2, 0.5)
    assert torch.equal(fresh.table(), run.table())
    found, expected = optimizer_tensors(fresh.optimizer), optimizer_tensors(run.optimizer)
    assert found.keys() == expected.keys()
    assert expected
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name
        assert found[name].dtype == tensor.dtype, name


def test_the_newest_checkpoints_are_kept(tmp_path):
    run = Run()
    assert run.load(tmp_path / "none") is None
    run.train(0, 1)
    for note, step in enumerate((8, 9, 10, 100, 100)):
        run.save(tmp_path, step, keep=3, note=note)
    kept = [int(path.name.removeprefix("step-")) for path in list_checkpoints(tmp_path)]
    assert kept == [9, 10, 100]
    assert run.load(tmp_path)["note"] == 4


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *((name, damage) for name in FILES[:2] for damage in (truncate, flip_a_bit, Path.unlink)),
        *(
            (FILES[2], lambda path, text=text: path.write_text(text, encoding="utf-8"))
            for text in ("", '{"step": 10,', "{}", "[]", "\0\0\0\0")
        ),
    ],
)
def test_a_damaged_file_costs_one_checkpoint(name, damage, tmp_path, caplog):
    saved_run(tmp_path)
    damage(list_checkpoints(tmp_path)[-1] / name)
    early, fresh = Run(), Run(seed=1)
    early.train(0, 5)
    early.optimizer.catch_up()
    with caplog.at_level(logging.WARNING):
        assert fresh.load(tmp_path)["note"] == "at 5"
    assert "step-0000000010" in caplog.text
    assert torch.equal(fresh.table(), early.table())
    for key, tensor in optimizer_tensors(early.optimizer).items():
        assert torch.equal(optimizer_tensors(fresh.optimizer)[key], tensor), key


def test_other_models_and_only_damaged_checkpoints_are_errors(tmp_path):
    saved_run(tmp_path)
    with pytest.raises(CheckpointError):
        Run(vocab_size=21).load(tmp_path)
    for path, name in zip(list_checkpoints(tmp_path), FILES, strict=False):
        truncate(path / name)
    with pytest.raises(CheckpointError):
        Run().load(tmp_path)


def test_a_partial_checkpoint_is_ignored_and_replaced(tmp_path):
    run = saved_run(tmp_path)
    (tmp_path / "step-0000000015.part").mkdir()
    (tmp_path / "step-0000000015.part" / "model.safetensors").write_bytes(b"half")
    assert Run().load(tmp_path)["note"] == "at 10"
    run.save(tmp_path, 15, note="at 15")
    assert Run().load(tmp_path)["note"] == "at 15"
    assert not list(tmp_path.glob("*.part"))


def fill_disk(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Make one step of a write fail as on a full disk."""
    replace = os.replace
    owner, name = {"writing": (checkpoint, "save_file"), "syncing": (os, "fsync")}.get(
        when, (os, "replace")
    )

    def fail(*args: Any, **kwargs: Any) -> None:
        if when == "renaming" and Path(args[0]).name == "state.json.part":
            return replace(*args)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(owner, name, fail)


@pytest.mark.parametrize("when", ["writing", "syncing", "renaming"])
def test_a_full_disk_keeps_earlier_files(when, tmp_path, monkeypatch):
    root, path = tmp_path / "checkpoints", tmp_path / "best" / "model.safetensors"
    run = saved_run(root)
    save_weights(run.model, path)
    before, table = path.read_bytes(), run.table()
    fill_disk(monkeypatch, when)
    with pytest.raises(CheckpointError):
        run.save(root, 10)
    run.train(10, 15)
    with pytest.raises(CheckpointError):
        run.save(root, 15)
    with pytest.raises(CheckpointError):
        save_weights(run.model, path)
    monkeypatch.undo()
    assert sorted(os.listdir(root)) == ["step-0000000005", "step-0000000010"]
    fresh = Run(seed=1)
    assert fresh.load(root)["note"] == "at 10"
    assert torch.equal(fresh.table(), table)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.safetensors"]


def test_missing_best_weights_keep_the_last(tmp_path, caplog):
    model = nn.Linear(2, 2)
    before = model.weight.detach().clone()
    load_weights(model, tmp_path / "best.safetensors")
    assert "best.safetensors" in caplog.text
    assert torch.equal(model.weight, before)
