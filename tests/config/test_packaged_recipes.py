import re
from pathlib import Path

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.config.packaged_recipes import (
    RECIPES,
    describe_recipes,
    find_recipe,
    recipe_names,
)
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.engine.paths import resolve_path
from paraphrastic_hf.training.kinds import load_recipe

FOLDER = "simple-and-effective-2019"
OWN = RECIPES / FOLDER / "own.yaml"


@pytest.mark.parametrize(
    "name",
    ["own", "own.yaml", *(f"{FOLDER}/own", f"recipes/{FOLDER}/own.yaml", OWN)],
    ids=str,
)
def test_a_recipe_is_found_by_its_name_from_any_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_recipe(name) == OWN
    assert load_recipe(name) == load_recipe(OWN)


def test_every_recipe_is_found_by_its_folder_and_name(capsys):
    assert len(recipe_names()) > 60
    for name in recipe_names():
        assert find_recipe(name) == RECIPES / f"{name}.yaml"
    assert find_recipe("bgt") == find_recipe("small-bgt")
    assert "small-bgt" in capsys.readouterr().err


def test_a_file_takes_precedence_over_a_packaged_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()  # a folder is no recipe
    assert find_recipe("own") == OWN
    Path("own.yaml").write_text("data: {sources: [mine.tsv]}", encoding="utf-8")
    assert find_recipe("own.yaml") == Path("own.yaml")
    assert find_recipe("own") == OWN


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("smoke", "back-translation-2017/smoke"),
        ("language-model", "language-model/english"),
        ("owm", "simple-and-effective-2019/own"),
        ("runs/owm.yaml", "simple-and-effective-2019/own"),
        ("./own.yaml", "'./own.yaml'"),
        ("simple-and-efective-2019/sp", "simple-and-effective-2019/sp"),
        ("blstm-avg", "revisiting-recurrent-2017/bilstm-avg"),
        ("xyzzy", "back-translation-2017, beyond-bleu-2019"),
        ("pairs.tsv.gz", "data.sources"),
    ],
)
def test_unknown_and_ambiguous_names_are_refused_with_suggestions(
    name, named, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv.gz").touch()
    with pytest.raises(RecipeError, match=re.escape(named)):
        find_recipe(name)


def test_packaged_texts_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_path("recipes/demo/pairs.tsv", tmp_path) == RECIPES / "demo" / "pairs.tsv"
    with pytest.raises(RecipeError):
        resolve_path("recipes/demo/absent.tsv", tmp_path)


def test_every_recipe_is_listed_with_a_summary(capsys):
    described = {name: (minutes, text) for name, minutes, text in describe_recipes()}
    assert list(described) == recipe_names()
    assert all(text and "\n" not in text for _, text in described.values())
    assert described["bilingual-generative-2020/small-bgt"][0] == "16"
    assert described["bilingual-generative-2020/smoke"][0] == "<2"
    with pytest.raises(SystemExit) as ended:
        main(["train", "--list"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in described)
