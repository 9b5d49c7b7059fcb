"""Training that diverges: where it stops, and what it leaves."""

from __future__ import annotations

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
from tests.training.runs import assert_equal_weights, record, small_recipe

ROOT = Path(__file__).parents[3]
PAIRS = ROOT / "recipes" / "demo" / "pairs.tsv"
DISTILLATION = f"""
kind: distillation
data: {{sources: [{{path: {PAIRS}, languages: [en, en], max_pairs: 40}}]}}
teachers: [tiny]
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 16}}
training: {{epochs: 3, batch_size: 8}}
run: {{development: none}}
"""
LANGUAGE_MODEL = f"""
kind: language_model
data: {{sources: [{{path: {PAIRS}, max_pairs: 40}}], held_out: 5}}
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 16, heads: 2, layers: 1}}
training: {{epochs: 1, steps: 3, batch_size: 8}}
"""


def recipe_of(kind: str, folder: Path, rate: str) -> Recipe:
    options = ["--learning_rate", rate, "--checkpoint_every", "1", "--warmup_steps", "0"]
    if kind == "contrastive":
        return small_recipe(folder, *options)
    if kind == "paraphrase":
        return load_recipe(scpn.write_recipe(folder), options)
    path = folder / "recipe.yaml"
    path.write_text({"distillation": DISTILLATION, "language_model": LANGUAGE_MODEL}[kind])
    return load_recipe(path, options)


@pytest.mark.parametrize("kind", ["contrastive", "distillation", "paraphrase", "language_model"])
def test_training_that_diverges_stops_and_names_its_rate(kind: str, tmp_path: Path) -> None:
    """And what checkpoints are left hold weights that a loader takes."""
    with pytest.raises(ParaphrasticError, match=r"1e\+30"):
        train(recipe_of(kind, tmp_path, "1e30"), tmp_path / "out")
    assert not (tmp_path / "out" / "run.json").exists()
    for path in (tmp_path / "out" / "checkpoints").glob("*/model.safetensors"):
        for tensor in load_file(path).values():
            assert tensor.square().sum().isfinite()


@pytest.mark.parametrize("kind", ["paraphrase", "language_model"])
def test_an_infinite_perplexity_is_no_error(kind: str, tmp_path: Path) -> None:
    train(recipe_of(kind, tmp_path, "1e5"), tmp_path / "out")
    held_out = record(tmp_path / "out")["held_out"]
    assert held_out["nats_per_token"] > 709
    assert held_out["perplexity"] == float("inf")


def test_a_gradient_that_is_not_finite_is_not_used_and_the_run_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe(tmp_path, "--checkpoint_every", "1")
    train(recipe, tmp_path / "unbroken")
    loss = ContrastiveObjective.loss

    def spoilt(self: Any, model: Any, batch: Any, epoch: int, step: int) -> Any:
        """The same loss, but its gradient is NaN in one step."""
        found = loss(self, model, batch, epoch, step)
        if step != 3:
            return found
        nothing = (next(model.parameters()) * 0).sqrt().sum()
        return dataclasses.replace(found, total=found.total + nothing)

    monkeypatch.setattr(ContrastiveObjective, "loss", spoilt)
    with pytest.raises(ParaphrasticError, match=r"nan.* 4"):
        train(recipe, tmp_path / "out")
    monkeypatch.setattr(ContrastiveObjective, "loss", loss)
    train(recipe, tmp_path / "out")
    assert_equal_weights(tmp_path / "out", tmp_path / "unbroken")
