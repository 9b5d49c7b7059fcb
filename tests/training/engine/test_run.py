"""Runs keep their output folder consistent."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from datasets import Dataset

from paraphrastic_hf import LanguageScorer, LatentGenerator, SentenceEncoder, Tagger, Translator
from paraphrastic_hf.config.recipe import MARK
from paraphrastic_hf.errors import BusyError, ModelError, RecipeError
from paraphrastic_hf.io import locks
from paraphrastic_hf.training.engine import memory, run
from paraphrastic_hf.training.engine.checkpoint import list_checkpoints
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.runs import CONTRASTIVE, breaking_at, train, written


@pytest.fixture
def recipe(tmp_path):
    return written(tmp_path, CONTRASTIVE)


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_run_killed_during_cleanup_is_cleaned_up_later(recipe, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(run, "clear_work", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            train(load_recipe(recipe), folder)
    assert (folder / "work").exists()
    before = (folder / "model.safetensors").read_bytes()
    assert train(load_recipe(recipe), folder).examples == 60
    assert not (folder / "work").exists()
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_correct_run_logs_no_warning(recipe, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.training.data.sources.FEW_PAIRS", 1)
    with caplog.at_level(logging.WARNING):
        train(load_recipe(recipe, ["--vocab_size", "100"]), tmp_path / "out")
    assert not caplog.records


def test_a_locked_folder_is_refused(recipe, tmp_path):
    folder = tmp_path / "out"
    with locks.locked(folder):
        with pytest.raises(BusyError):
            train(load_recipe(recipe), folder)
        assert folder.is_dir()
    assert not folder.exists()  # nothing was written
    assert train(load_recipe(recipe), folder).examples == 60


def test_a_folder_that_cannot_be_locked_gives_a_warning(recipe, tmp_path, monkeypatch, caplog):
    error = OSError(95, "Operation not supported")
    monkeypatch.setattr(locks.fcntl, "flock", raising(error))
    assert train(load_recipe(recipe), tmp_path / "out").examples == 60
    assert "out" in caplog.text


def test_other_files_are_not_removed(recipe, tmp_path):
    mine, thesis = tmp_path / "mine", tmp_path / "mine" / "work" / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("years")
    (mine / "recipe.yaml").write_bytes(recipe.read_bytes())
    for overwrite in (False, True):
        with pytest.raises(RecipeError):
            train(load_recipe(recipe), mine, overwrite=overwrite)
    assert thesis.exists()
    train(load_recipe(recipe), tmp_path / "out")
    (tmp_path / "out" / "my_config_of_cluster.json").touch()
    train(load_recipe(recipe), tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "my_config_of_cluster.json").exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{data: ["])
def test_a_damaged_recipe_record_is_named(content, recipe, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.yaml").write_bytes(MARK.encode() + content)
    with pytest.raises(RecipeError):
        train(load_recipe(recipe), tmp_path / "out")
    train(load_recipe(recipe), tmp_path / "out", overwrite=True)


def test_overwriting_replaces_a_run_but_not_the_model_it_starts_from(recipe, tmp_path):
    out = tmp_path / "out"

    def times() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in out.iterdir()}

    train(load_recipe(recipe, ["--training.steps", "2"]), out)
    before = times()
    for key in ("start", "finish.merge_with"):
        with pytest.raises(RecipeError):
            train(load_recipe(recipe, [f"--{key}", str(out)]), out, overwrite=True)
    assert times() == before
    train(load_recipe(recipe, ["--training.steps", "3"]), out, overwrite=True)
    assert times().keys() == before.keys()


def test_a_table_too_large_for_memory_is_refused_and_writes_nothing(recipe, tmp_path, monkeypatch):
    """Three rows of 8 float32 fit into 1,000 bytes, but the 200 rows of the text do not."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000)
    with pytest.raises(RecipeError):
        train(load_recipe(recipe), tmp_path / "out")
    assert not (tmp_path / "out").exists()


OUT_OF_MEMORY = [
    MemoryError("Unable to allocate 732. GiB"),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 4800000000 bytes\nat"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["make_optimizer", "TrainingLoop.train"])
def test_out_of_memory_names_keys_and_writes_nothing(place, error, recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(f"paraphrastic_hf.training.engine.loop.{place}", raising(error))
    with pytest.raises(RecipeError, match="hidden_size"):
        train(load_recipe(recipe), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_out_of_memory_keeps_checkpoints(recipe, tmp_path):
    settings, folder = ["--checkpoint_every", "1", "--batch_size", "20"], tmp_path / "out"
    chosen = load_recipe(recipe, settings)
    with pytest.raises(RecipeError), breaking_at(2, MemoryError):
        train(chosen, folder)
    assert list_checkpoints(folder / "checkpoints")
    assert train(chosen, folder).examples == 60


def test_a_recipe_name_and_anything_but_lists_of_datasets_are_refused(recipe, tmp_path):
    with pytest.raises(TypeError):
        train("own", tmp_path / "out")  # type: ignore[arg-type]
    one, source = Dataset.from_dict({"first": ["a"], "second": ["b"]}), SourceArguments("half")
    wrong: list[Any] = [one, {"train": one}, None, tmp_path, [None], [tmp_path], ["a.tsv"]]
    wrong += [[("a", "b")], [("a.tsv", source)], [(one, source, 3)]]
    for datasets in wrong:
        with pytest.raises(TypeError):
            train(load_recipe(recipe), tmp_path / "out", datasets=datasets)
    assert not (tmp_path / "out").exists()


def test_the_folder_of_an_unfinished_run_is_no_model(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "recipe.yaml").touch()
    for loader in (SentenceEncoder, LatentGenerator, LanguageScorer, Translator, Tagger):
        with pytest.raises(ModelError):
            loader.from_pretrained(tmp_path)
