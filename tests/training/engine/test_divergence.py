"""Diverging training stops and keeps intact checkpoints."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from paraphrastic_hf import train
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.kinds import Recipe, load_recipe
from tests.generation import scpn
from tests.trained import FAMILIES
from tests.training import runs
from tests.training.runs import DISTILLATION, assert_equal_weights, record, small_recipe


def recipe_of(kind: str, folder: Path, rate: str) -> Recipe:
    options = ["--learning_rate", rate, "--checkpoint_every", "1", "--warmup_steps", "0"]
    if kind == "contrastive":
        return small_recipe(folder, *options)
    if kind == "paraphrase":
        return load_recipe(scpn.write_recipe(folder), options)
    text = {"distillation": DISTILLATION, **FAMILIES}[kind]
    return runs.recipe_of(folder, text, *options, "--training.steps", "2", "--batch_size", "8")


@pytest.mark.parametrize("kind", ["contrastive", "distillation", "paraphrase", "language_model"])
def test_training_that_diverges_stops_and_names_its_rate(kind, tmp_path):
    with pytest.raises(ParaphrasticError, match=r"1e\+30"):
        train(recipe_of(kind, tmp_path, "1e30"), tmp_path / "out")
    assert not (tmp_path / "out" / "run.json").exists()
    for path in (tmp_path / "out" / "checkpoints").glob("*/model.safetensors"):
        for tensor in load_file(path).values():
            assert tensor.square().sum().isfinite()


@pytest.mark.parametrize("kind", ["paraphrase", "language_model"])
def test_an_infinite_perplexity_is_allowed(kind, tmp_path):
    train(recipe_of(kind, tmp_path, "1e5"), tmp_path / "out")
    held_out = record(tmp_path / "out")["held_out"]
    assert held_out["nats_per_token"] > 709
    assert held_out["perplexity"] == float("inf")


def test_a_gradient_that_is_not_finite_is_not_used_and_the_run_can_resume(tmp_path, monkeypatch):
    recipe = small_recipe(tmp_path, "--checkpoint_every", "1")
    train(recipe, tmp_path / "unbroken")
    loss = ContrastiveObjective.loss

    def spoilt(self: Any, model: Any, batch: Any, epoch: int, step: int) -> Any:
        """Return the right loss, but with a NaN gradient in step 3."""
        found = loss(self, model, batch, epoch, step)
        if step != 3:
            return found
        nothing = (next(model.parameters()) * 0).sqrt().sum()
        return dataclasses.replace(found, total=found.total + nothing)

    monkeypatch.setattr(ContrastiveObjective, "loss", spoilt)
    with pytest.raises(ParaphrasticError):
        train(recipe, tmp_path / "out")
    monkeypatch.setattr(ContrastiveObjective, "loss", loss)
    train(recipe, tmp_path / "out")
    assert_equal_weights(tmp_path / "out", tmp_path / "unbroken")
