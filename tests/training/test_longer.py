"""A finished run that is trained for longer ends as an unbroken run of the longer recipe does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from paraphrastic_hf.errors import CheckpointError, RecipeError
from paraphrastic_hf.training.kinds import load_recipe
from paraphrastic_hf.training.loop import TrainingLoop
from paraphrastic_hf.training.progress import Progress
from paraphrastic_hf.training.run import train
from tests.training.test_kills import CONTRASTIVE, GENERATIVE, TEXT, TRANSLATION, log_of

SELECTED = CONTRASTIVE.replace("development: none", "development: clean, evaluate_every: 4")
TIMES = {"finished", "pairs_per_second"}


def run(recipe: str, output: Path, *options: str, **others: Any) -> Progress:
    path = output.with_suffix(".yaml")
    path.write_text(recipe, encoding="utf-8")
    return train(load_recipe(path, options), output, progress=False, **others)


def told(output: Path) -> dict[str, Any]:
    """What a run says of itself, but for times."""
    record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    progress = {key: value for key, value in record["progress"].items() if key != "seconds"}
    kept = {key: value for key, value in record.items() if key not in TIMES}
    files = sorted(path.name for path in output.iterdir())
    return {**kept, "progress": progress, "log": log_of(output), "files": files}


@pytest.mark.parametrize(
    ("recipe", "shorter", "longer"),
    [
        (CONTRASTIVE, ["--epochs", "2"], ["--epochs", "4"]),
        # steps that end within a mega-batch, evaluate once more and may select what they evaluate
        (SELECTED, ["--training.steps", "7"], ["--training.steps", "14"]),
        (TRANSLATION, ["--training.steps", "5"], []),
    ],
    ids=["contrastive", "selected", "translation"],
)
def test_a_run_trained_for_longer_is_an_unbroken_one(
    recipe: str, shorter: list[str], longer: list[str], tmp_path: Path
) -> None:
    whole, again = tmp_path / "whole", tmp_path / "again"
    run(recipe, whole, *longer)
    first = run(recipe, again, *shorter)
    assert first.step < run(recipe, again, *longer).step
    expected, found = (load_file(each / "model.safetensors") for each in (whole, again))
    assert all(found[name].equal(expected[name]) for name in expected)
    assert told(again) == told(whole)
    assert (again / "recipe.yaml").read_bytes() == (whole / "recipe.yaml").read_bytes()
    assert f"--output {again.name}" in (again / "README.md").read_text(encoding="utf-8")


def test_an_unfinished_run_can_be_made_longer_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_late(loop: TrainingLoop, *arguments: Any) -> dict[str, float]:
        if loop.progress.step == 9:
            raise MemoryError
        return step(loop, *arguments)

    step = TrainingLoop._step
    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "_step", fail_late)
        with pytest.raises(RecipeError):
            run(CONTRASTIVE, tmp_path / "again", "--epochs", "2")
    run(CONTRASTIVE, tmp_path / "again", "--epochs", "3")
    run(CONTRASTIVE, tmp_path / "whole", "--epochs", "3")
    assert told(tmp_path / "again") == told(tmp_path / "whole")


@pytest.mark.parametrize(
    ("recipe", "settings", "key"),
    [
        (CONTRASTIVE, ["--schedule", "linear"], "training.schedule"),
        (GENERATIVE, ["--schedule", "constant", "--kl_rise", "0.5"], "training.kl_rise"),
    ],
)
def test_a_run_whose_steps_depend_on_its_length_is_not_made_longer(
    recipe: str, settings: list[str], key: str, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run(recipe, output, *settings, "--epochs", "1")
    before = told(output)
    assert "checkpoints" not in before["files"]
    with pytest.raises(RecipeError, match=key):
        run(recipe, output, *settings, "--epochs", "2")
    assert told(output) == before


def test_no_other_change_and_no_other_text_is_taken_for_a_longer_run(tmp_path: Path) -> None:
    text, output = tmp_path / "pairs.tsv", tmp_path / "out"
    text.write_bytes(TEXT.read_bytes())
    recipe = CONTRASTIVE.replace(str(TEXT), str(text))
    run(recipe, output, "--epochs", "2")
    before = told(output)
    for changed in (["--epochs", "1"], ["--epochs", "3", "--margin", "0.7"]):
        with pytest.raises(RecipeError, match=changed[-1]):
            run(recipe, output, *changed)
    text.write_text("a cat\tthe cat\n" + text.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"pairs\.tsv"):
        run(recipe, output, "--epochs", "3")
    assert told(output) == before
    assert run(recipe, output, "--epochs", "3", overwrite=True).examples == 3 * 61
    assert told(output)["files"] == before["files"]


def test_without_its_checkpoints_a_run_is_not_begun_anew_by_itself(tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(CONTRASTIVE, output, "--epochs", "1")
    for path in (output / "checkpoints").iterdir():
        path.rename(tmp_path / path.name)
    (output / "checkpoints").rmdir()
    with pytest.raises(RecipeError, match="checkpoints"):
        run(CONTRASTIVE, output, "--epochs", "2")
