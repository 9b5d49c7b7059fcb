"""Keys of a source that a kind of recipe would not read are refused, not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.data.sources import read_sources
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_recipe

PLAIN = ("translation", "minimum_risk", "generative", "paraphrase", "language_model")
MARKS = {"translation": "end", "generative": "end", "paraphrase": "end", "language_model": "both"}


def write_recipe(folder: Path, kind: str, keys: str) -> Path:
    """A recipe of some kind with one source, which has some keys."""
    source = f"{{path: pairs.tsv{keys}}}"
    marks = f"tokenizer: {{marks: {MARKS[kind]}}}\n" if kind in MARKS else ""
    teachers = "teachers: [english]\n" if kind == "distillation" else ""
    path = folder / "recipe.yaml"
    path.write_text(f"kind: {kind}\ndata: {{sources: [{source}]}}\n{marks}{teachers}")
    return path


@pytest.mark.parametrize(
    ("kind", "key"),
    [*((kind, key) for kind in PLAIN for key in ("weight", "swap")), ("distillation", "swap")],
)
def test_what_would_be_passed_over_is_refused(kind: str, key: str, tmp_path: Path) -> None:
    value = {"weight": "2", "swap": "true"}[key]
    with pytest.raises(RecipeError, match=rf"{key} of pairs.tsv means nothing in this recipe: "):
        load_recipe(write_recipe(tmp_path, kind, f", {key}: {value}"))
    load_recipe(write_recipe(tmp_path, kind, ", weight: 1, swap: false"))


@pytest.mark.parametrize(
    ("kind", "keys"), [("contrastive", ", weight: 2, swap: true"), ("distillation", ", weight: 2")]
)
def test_what_is_read_is_taken(kind: str, keys: str, tmp_path: Path) -> None:
    (source,) = load_recipe(write_recipe(tmp_path, kind, keys)).data.sources
    assert source.weight == 2


def test_it_is_refused_of_a_dataset_beside_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a dog\tein Hund\n")
    recipe = load_recipe(write_recipe(tmp_path, "translation", ", languages: [en, de]"))
    rows = [{"a": "a cat", "b": "eine Katze"}]
    given = SourceArguments("rows", languages=["en", "de"], swap=True)
    with pytest.raises(RecipeError, match="swap of rows means nothing in this recipe: "):
        read_sources(recipe, tmp_path, [(rows, given)])
