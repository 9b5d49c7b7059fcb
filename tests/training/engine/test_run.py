"""What a run does with its folder, whatever is trained."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file

from paraphrastic_hf import (
    LanguageScorer,
    LatentGenerator,
    SentenceEncoder,
    Tagger,
    Translator,
)
from paraphrastic_hf.config.recipe import MARK
from paraphrastic_hf.errors import BusyError, CheckpointError, DataError, ModelError, RecipeError
from paraphrastic_hf.io import locks as locked
from paraphrastic_hf.training.engine import memory
from paraphrastic_hf.training.engine import run_folder as run_output
from paraphrastic_hf.training.engine.checkpoint import list_checkpoints
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe

PAIRS = Path(__file__).parents[3] / "recipes" / "demo" / "pairs.tsv"
SMALL = f"""
data: {{sources: [{PAIRS}]}}
tokenizer: {{kind: word, vocab_size: 200}}
model: {{hidden_size: 8}}
training: {{epochs: 1, mega_batch: 1}}
run: {{development: none}}
"""
HOLDS = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_a_folder_in_which_another_process_trains_is_refused(recipe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(RecipeError, match=r"another process is training in .*out: wait until"):
        train(load_recipe(recipe), folder, progress=False)
    other.communicate()
    assert train(load_recipe(recipe), folder, progress=False).examples == 60


def test_a_kill_while_a_finished_run_is_cleared_is_made_good(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("paraphrastic_hf.training.engine.run.clear_work", killed)
        with pytest.raises(KeyboardInterrupt):
            train(load_recipe(recipe), folder, progress=False)
    assert (folder / "work").exists()
    before = load_file(folder / "model.safetensors")
    assert train(load_recipe(recipe), folder, progress=False).examples == 60
    assert not (folder / "work").exists()
    assert not (folder / "checkpoints").exists()
    after = load_file(folder / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_a_claim_left_when_it_was_killed_does_not_bar_the_next(
    recipe: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.yaml.part").write_text("data: {sou")
    assert train(load_recipe(recipe), tmp_path / "out", progress=False).examples == 60


def test_a_supervised_run_that_cannot_be_prepared_leaves_nothing(tmp_path: Path) -> None:
    """A tokenizer of more entries than the text has is refused after the folder was claimed."""
    data = tmp_path / "data"
    (data / "sst").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (data / "sst" / f"stsa.binary.{split}").write_text("1 a good film\n0 a bad film\n")
    path = tmp_path / "sst.yaml"
    path.write_text(
        "task: {kind: sentiment, dataset: {name: sst, config: binary}}\n"
        "tokenizer: {kind: word, vocab_size: 900, hard_vocab_limit: true}\n",
        encoding="utf-8",
    )
    with pytest.raises(DataError, match="vocab_size is 900"):
        train(load_recipe(path), tmp_path / "out", data_root=data, progress=False)
    assert not (tmp_path / "out").exists()


def test_a_finished_run_of_an_older_version_is_read(recipe: Path, tmp_path: Path) -> None:
    """It counted `pairs`, and its recipe named no kind."""
    folder = tmp_path / "out"
    result = train(load_recipe(recipe), folder, progress=False)
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"examples": 60', '"pairs": 60'))
    resolved = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(resolved.replace("kind: contrastive\n", "", 1))
    assert train(load_recipe(recipe), folder, progress=False) == result
    assert run_output.is_finished(folder)


def test_an_unknown_kind_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("kind: contrastve")
    with pytest.raises(RecipeError, match="contrastive, distillation, supervised, generative"):
        load_recipe(tmp_path / "recipe.yaml")


def test_a_kind_can_be_chosen_where_options_are_given(recipe: Path) -> None:
    assert load_recipe(recipe, ["--kind", "contrastive"]).kind == "contrastive"
    with pytest.raises(RecipeError, match="kind must be one of contrastive, distillation"):
        load_recipe(recipe, ["--kind", "contrastve"])
    message = r"is a recipe of kind contrastive, and does not do with --kind generative \("
    with pytest.raises(RecipeError, match=message):
        load_recipe(recipe, ["--kind", "generative"])
    with pytest.raises(RecipeError, match="model is a section of this recipe; set its keys, as in"):
        load_recipe(recipe, ["--model", "{hidden_size: 3}"])


def test_a_good_run_says_nothing(
    recipe: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("paraphrastic_hf.training.data.sources.FEW_PAIRS", 1)
    with caplog.at_level(logging.WARNING):
        train(load_recipe(recipe, ["--vocab_size", "100"]), tmp_path / "out", progress=False)
    assert not caplog.records


def test_a_run_whose_objective_is_refused_leaves_nothing(recipe: Path, tmp_path: Path) -> None:
    """That the width is too large is known once the model stands."""
    with pytest.raises(RecipeError, match="below the encoder's 8 dimensions"):
        train(load_recipe(recipe, ["--matryoshka", "[8]"]), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_who_is_refused_the_lock_leaves_an_empty_folder_to_its_holder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with locked.locked(folder):
        with pytest.raises(BusyError), locked.locked(folder):
            pytest.fail("two hold the lock")
        assert folder.is_dir()
    assert not folder.exists()  # nothing was put there
    with locked.locked(folder):
        (folder / "model").touch()
    assert (folder / "model").exists()


def test_a_folder_that_can_never_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:  # as below /proc
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CheckpointError, match="cannot write to"), locked.locked(tmp_path / "out"):
        pytest.fail("there is no folder")


def test_a_folder_that_cannot_be_locked_is_trained_in_with_a_warning(
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locked.fcntl, "flock", unsupported)
    assert train(load_recipe(recipe), tmp_path / "out", progress=False).examples == 60
    assert "cannot be locked" in caplog.text


def test_overwriting_takes_no_file_of_others(recipe: Path, tmp_path: Path) -> None:
    train(load_recipe(recipe), tmp_path / "out", progress=False)
    (tmp_path / "out" / "my_config_of_cluster.json").touch()
    train(load_recipe(recipe), tmp_path / "out", progress=False, overwrite=True)
    assert (tmp_path / "out" / "my_config_of_cluster.json").exists()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{data: ["])
def test_a_damaged_record_of_a_run_is_named(content: bytes, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "recipe.yaml").write_bytes(MARK.encode() + content)
    with pytest.raises(RecipeError, match=r"recipe.yaml, which says .* is damaged; .*--overwrite"):
        train(load_recipe(recipe), tmp_path / "out", progress=False)
    train(load_recipe(recipe), tmp_path / "out", progress=False, overwrite=True)


def test_a_folder_with_a_recipe_that_somebody_wrote_is_not_taken(
    recipe: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "thesis.txt").write_text("years")
    (folder / "recipe.yaml").write_bytes(recipe.read_bytes())
    for overwrite in (False, True):
        with pytest.raises(RecipeError, match="is not empty and holds no run of this program"):
            train(load_recipe(recipe), folder, progress=False, overwrite=overwrite)
    assert (folder / "work" / "thesis.txt").exists()


def test_a_run_is_replaced_only_where_the_next_one_begins(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    train(load_recipe(recipe, ["--training.steps", "2"]), out, progress=False)
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    wrong = load_recipe(recipe, ["--vocab_size", "9999", "--tokenizer.hard_vocab_limit", "true"])
    with pytest.raises(DataError):
        train(wrong, out, progress=False, overwrite=True)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    # as where a kill came between: the next command puts it back
    (out / "replaced.part").mkdir()
    (out / "model.safetensors").rename(out / "replaced.part" / "model.safetensors")
    train(load_recipe(recipe, ["--training.steps", "2"]), out, progress=False)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    own = load_recipe(recipe, ["--start", str(out)])
    with pytest.raises(RecipeError, match="is where the model is to be written"):
        train(own, out, progress=False, overwrite=True)
    merged = load_recipe(recipe, ["--finish.merge_with", str(out)])
    with pytest.raises(RecipeError, match=r"finish\.merge_with .* where the model is to be"):
        train(merged, out, progress=False, overwrite=True)
    train(load_recipe(recipe, ["--training.steps", "3"]), out, progress=False, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == sorted(before)


def test_a_great_many_epochs_end_with_the_steps(recipe: Path, tmp_path: Path) -> None:
    settings = ["--epochs", "1000000", "--training.steps", "2"]
    assert train(load_recipe(recipe, settings), tmp_path / "out", progress=False).step == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["--hidden_size", "1000000000000"], "model.hidden_size must be from 1 to 1000000"),
        (["--hidden_size", "9" * 300], "model.hidden_size must be from 1 to 1000000"),
        (["--vocab_size", "9" * 40], "tokenizer.vocab_size must be from 3 to 2147483647"),
        (["--seed", "9" * 5000], "cannot read the value of --seed"),
        (
            ["--model.kind", "recurrent", "--hidden_size", "1000000"],
            r"numbers takes .* GB, and this machine has",
        ),
        (
            ["--kind", "language_model", "--hidden_size", "1000000", "--layers", "1000"],
            r"numbers takes .* GB, and this machine has",
        ),
    ],
)
def test_a_model_that_no_machine_holds_is_refused_before_a_folder_is_made(
    settings: list[str], message: str, recipe: Path, tmp_path: Path
) -> None:
    if "language_model" in settings:
        recipe.write_text(f"data: {{sources: [{PAIRS}]}}", encoding="utf-8")
    with pytest.raises(RecipeError, match=message):
        train(load_recipe(recipe, settings), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_a_table_too_large_for_the_vocabulary_found_leaves_nothing(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three rows of 8 float32 fit into a thousand bytes, and the 200 that the text has do not."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000)
    with pytest.raises(RecipeError, match="a model of 1,600 numbers takes"):
        train(load_recipe(recipe), tmp_path / "out", progress=False)
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
    with pytest.raises(
        RecipeError,
        match=r"memory ran out \(.*\): lower model.hidden_size, tokenizer.vocab_size, "
        r"training.batch_size or data.max_length, whichever",
    ) as said:
        train(load_recipe(recipe), tmp_path / "out", progress=False)
    assert "\n" not in str(said.value)
    assert not (tmp_path / "out").exists()


def test_memory_that_runs_out_late_takes_no_checkpoint(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on from it, such as on a machine with more memory."""
    settings, folder = ["--checkpoint_every", "1", "--batch_size", "20"], tmp_path / "out"
    step, steps = TrainingLoop._step, iter(range(9))

    def fail_at_the_third(*arguments: Any) -> Any:
        if next(steps) == 2:
            raise MemoryError
        return step(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "_step", fail_at_the_third)
        with pytest.raises(RecipeError, match="memory ran out"):
            train(load_recipe(recipe, settings), folder, progress=False)
    assert list_checkpoints(folder / "checkpoints")
    assert train(load_recipe(recipe, settings), folder, progress=False).examples == 60


def test_names_where_objects_are_meant_are_refused_with_what_to_write(
    recipe: Path, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=r"not the name of one: load_recipe\('own'\)"):
        train("own", tmp_path / "out")  # type: ignore[arg-type]
    one = Dataset.from_dict({"first": ["a cat"], "second": ["a cat"]})
    for wrong in (one, {"train": one}):
        with pytest.raises(TypeError, match=r"must be a list: datasets=\[\.\.\.\]"):
            train(load_recipe(recipe), tmp_path / "out", datasets=wrong)
    for absent in (None, tmp_path):
        with pytest.raises(TypeError, match="must be a list of datasets, got"):
            train(load_recipe(recipe), tmp_path / "out", datasets=absent)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^datasets\[0\] must be a dataset, or"):
            train(load_recipe(recipe), tmp_path / "out", datasets=[absent])
    assert not (tmp_path / "out").exists()


def test_a_folder_whose_run_has_not_ended_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "recipe.yaml").touch()
    for loader in (SentenceEncoder, LatentGenerator, LanguageScorer, Translator, Tagger):
        with pytest.raises(ModelError, match="is not finished, so there is no model yet; the same"):
            loader.from_pretrained(tmp_path)


def test_text_in_utf_16_is_refused_as_by_every_command(recipe: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a cat\ta cat\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"pairs\.tsv.*UTF-16.*iconv"):
        train(load_recipe(recipe, ["--sources", str(pairs)]), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()
