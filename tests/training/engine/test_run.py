"""What a run does with its folder, whatever is trained."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file

from paraphrastic_hf import LanguageScorer, LatentGenerator, SentenceEncoder, Tagger, Translator
from paraphrastic_hf.config.recipe import MARK
from paraphrastic_hf.errors import BusyError, DataError, ModelError, RecipeError
from paraphrastic_hf.io import locks as locked
from paraphrastic_hf.training.engine import memory
from paraphrastic_hf.training.engine import run_folder as run_output
from paraphrastic_hf.training.engine.checkpoint import list_checkpoints
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.runs import CONTRASTIVE, train, written

SMALL = CONTRASTIVE


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return written(tmp_path, SMALL)


def test_a_kill_while_a_finished_run_is_cleared_is_made_good(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("paraphrastic_hf.training.engine.run.clear_work", killed)
        with pytest.raises(KeyboardInterrupt):
            train(load_recipe(recipe), folder)
    assert (folder / "work").exists()
    before = load_file(folder / "model.safetensors")
    assert train(load_recipe(recipe), folder).examples == 60
    assert not (folder / "work").exists()
    after = load_file(folder / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_a_killed_claim_left_does_not_bar_the_next(recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.yaml.part").write_text("data: {sou")
    assert train(load_recipe(recipe), tmp_path / "out").examples == 60


def test_a_finished_run_of_an_older_version_is_read(recipe: Path, tmp_path: Path) -> None:
    """It counted `pairs`, and its recipe named no kind."""
    folder = tmp_path / "out"
    result = train(load_recipe(recipe), folder)
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"examples": 60', '"pairs": 60'))
    resolved = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(resolved.replace("kind: contrastive\n", "", 1))
    assert train(load_recipe(recipe), folder) == result
    assert run_output.is_finished(folder)


def test_a_good_run_says_nothing(
    recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paraphrastic_hf.training.data.sources.FEW_PAIRS", 1)
    with caplog.at_level(logging.WARNING):
        train(load_recipe(recipe, ["--vocab_size", "100"]), tmp_path / "out")
    assert not caplog.records


def test_who_is_refused_the_lock_leaves_the_folder_to_its_holder(
    recipe: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    with locked.locked(folder):
        with pytest.raises(BusyError, match="out"):
            train(load_recipe(recipe), folder)
        assert folder.is_dir()
    assert not folder.exists()  # nothing was put there
    assert train(load_recipe(recipe), folder).examples == 60


def test_a_folder_that_cannot_be_locked_is_trained_in_with_a_warning(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locked.fcntl, "flock", unsupported)
    assert train(load_recipe(recipe), tmp_path / "out").examples == 60
    assert "out" in caplog.text


def test_no_file_of_others_is_taken(recipe: Path, tmp_path: Path) -> None:
    mine, thesis = tmp_path / "mine", tmp_path / "mine" / "work" / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("years")
    (mine / "recipe.yaml").write_bytes(recipe.read_bytes())
    for overwrite in (False, True):
        with pytest.raises(RecipeError, match="mine"):
            train(load_recipe(recipe), mine, overwrite=overwrite)
    assert thesis.exists()
    train(load_recipe(recipe), tmp_path / "out")
    (tmp_path / "out" / "my_config_of_cluster.json").touch()
    train(load_recipe(recipe), tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "my_config_of_cluster.json").exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{data: ["])
def test_a_damaged_record_of_a_run_is_named(content: bytes, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.yaml").write_bytes(MARK.encode() + content)
    with pytest.raises(RecipeError, match=r"recipe.yaml.*--overwrite"):
        train(load_recipe(recipe), tmp_path / "out")
    train(load_recipe(recipe), tmp_path / "out", overwrite=True)


def test_a_run_is_replaced_only_by_a_finished_one(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    train(load_recipe(recipe, ["--training.steps", "2"]), out)
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    wrong = load_recipe(recipe, ["--vocab_size", "9999", "--tokenizer.hard_vocab_limit", "true"])
    with pytest.raises(DataError):
        train(wrong, out, overwrite=True)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    again, train_loop = load_recipe(recipe, ["--checkpoint_every", "1"]), TrainingLoop.train

    def killed(loop: TrainingLoop, objective: Any) -> None:
        train_loop(loop, objective)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "train", killed)
        with pytest.raises(KeyboardInterrupt):
            train(again, out, overwrite=True)
    kept = out / "replaced.part"
    assert (kept / "model.safetensors").stat().st_mtime_ns == before["model.safetensors"]
    shutil.rmtree(out / "checkpoints")
    # as where a kill came before the first checkpoint: the next command puts the old run back
    train(load_recipe(recipe, ["--training.steps", "2"]), out)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    own = load_recipe(recipe, ["--start", str(out)])
    with pytest.raises(RecipeError, match="start"):
        train(own, out, overwrite=True)
    merged = load_recipe(recipe, ["--finish.merge_with", str(out)])
    with pytest.raises(RecipeError, match=r"finish\.merge_with"):
        train(merged, out, overwrite=True)
    train(load_recipe(recipe, ["--training.steps", "3"]), out, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == sorted(before)


def test_a_great_many_epochs_end_with_the_steps(recipe: Path, tmp_path: Path) -> None:
    settings = ["--epochs", "1000000", "--training.steps", "2"]
    assert train(load_recipe(recipe, settings), tmp_path / "out").step == 2


def test_a_table_too_large_for_the_vocabulary_found_leaves_nothing(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three rows of 8 float32 fit into a thousand bytes, and the 200 that the text has do not."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000)
    with pytest.raises(RecipeError, match="1,600"):
        train(load_recipe(recipe), tmp_path / "out")
    assert not (tmp_path / "out").exists()


OUT_OF_MEMORY = [
    MemoryError("Unable to allocate 732. GiB"),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 4800000000 bytes\nat"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["make_optimizer", "TrainingLoop.train"])
def test_memory_that_runs_out_is_a_clear_error_and_leaves_nothing(
    place: str, error: Exception, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(f"paraphrastic_hf.training.engine.loop.{place}", fail)
    with pytest.raises(RecipeError, match=r"model.hidden_size"):
        train(load_recipe(recipe), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_memory_that_runs_out_late_takes_no_checkpoint(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on from it, such as on a machine with more memory."""
    settings, folder = ["--checkpoint_every", "1", "--batch_size", "20"], tmp_path / "out"
    chosen, step = load_recipe(recipe, settings), TrainingLoop._step

    def fail_at_the_third(loop: TrainingLoop, *arguments: Any) -> Any:
        if loop.progress.step == 2:
            raise MemoryError
        return step(loop, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "_step", fail_at_the_third)
        with pytest.raises(RecipeError, match=r"model.hidden_size"):
            train(chosen, folder)
    assert list_checkpoints(folder / "checkpoints")
    assert train(chosen, folder).examples == 60


def test_names_where_objects_are_meant_are_refused(recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'own'"):
        train("own", tmp_path / "out")  # type: ignore[arg-type]
    one = Dataset.from_dict({"first": ["a cat"], "second": ["a cat"]})
    for wrong in (one, {"train": one}):
        with pytest.raises(TypeError, match="datasets"):
            train(load_recipe(recipe), tmp_path / "out", datasets=wrong)
    for absent in (None, tmp_path):
        with pytest.raises(TypeError, match="datasets"):
            train(load_recipe(recipe), tmp_path / "out", datasets=absent)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"datasets\[0\]"):
            train(load_recipe(recipe), tmp_path / "out", datasets=[absent])
    assert not (tmp_path / "out").exists()


def test_a_folder_whose_run_has_not_ended_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "recipe.yaml").touch()
    for loader in (SentenceEncoder, LatentGenerator, LanguageScorer, Translator, Tagger):
        with pytest.raises(ModelError, match=tmp_path.name):
            loader.from_pretrained(tmp_path)
