"""Every recipe in the repository resolves, and the smoke recipe runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.recipe import load_recipe, to_mapping
from paraphrastic_hf.training.build import check_encoders
from paraphrastic_hf.training.contrastive_arguments import ContrastiveRecipe
from paraphrastic_hf.training.kinds import read_recipe
from paraphrastic_hf.training.run import train
from paraphrastic_hf.training.supervised_arguments import SupervisedRecipe
from paraphrastic_hf.training.supervised_run import check_supervised

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_resolves_and_survives_a_round_trip(path: Path, tmp_path: Path) -> None:
    recipe = read_recipe(path)
    if isinstance(recipe, SupervisedRecipe):
        check_supervised(recipe)
    elif isinstance(recipe, ContrastiveRecipe):
        check_encoders(recipe)
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(to_mapping(recipe)), encoding="utf-8")
    assert read_recipe(again) == recipe


def test_the_smoke_recipe_trains_a_loadable_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    recipe = load_recipe(ContrastiveRecipe, "recipes/simple-and-effective-2019/smoke.yaml")
    result = train(recipe, tmp_path / "out", progress=False)
    assert result.examples == 5 * 60
    assert SentenceEncoder.from_pretrained(tmp_path / "out").encode("the cat").shape == (32,)
