"""Where the files and models that a recipe names are looked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.training.engine.paths import DATA_ROOT_VARIABLE, resolve_model, resolve_path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root beside the working folder."""
    for name in ("data", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv(DATA_ROOT_VARIABLE, raising=False)
    return tmp_path / "data"


def test_a_model_is_looked_for_under_the_data_root_and_then_where_one_is(root: Path) -> None:
    trained = Path("runs/de-en")
    trained.mkdir(parents=True)
    assert resolve_model("runs/de-en", root) == trained
    (root / "runs" / "de-en").mkdir(parents=True)
    assert resolve_model("runs/de-en", root) == root / "runs" / "de-en"


def test_a_name_of_a_model_stays_as_it_is(root: Path) -> None:
    assert resolve_model("english", root) == "english"
    assert resolve_model("someone/model", None) == "someone/model"


def test_the_places_that_were_tried_are_named(root: Path) -> None:
    tried = re.escape(f"{root}/runs/de-en and {Path.cwd()}/runs/de-en")
    with pytest.raises(ModelError, match=tried):
        resolve_model("runs/de-en", root)
    tried = re.escape(f"{root}/a.tsv or {Path.cwd()}/a.tsv")
    with pytest.raises(RecipeError, match=f"{tried}.*--data"):
        resolve_path("a.tsv", root)
    with pytest.raises(RecipeError, match=r"\*\.tsv"):
        resolve_path("*.tsv", root)
    with pytest.raises(RecipeError, match=re.escape("/absent.tsv")):
        resolve_path("/absent.tsv", root)


def test_a_path_that_says_so_is_of_the_working_folder(root: Path) -> None:
    (root / "pairs.tsv").write_text("a\tb\n", encoding="utf-8")
    assert resolve_path("./pairs.tsv", root) == root / "pairs.tsv"
    Path("pairs.tsv").write_text("c\td\n", encoding="utf-8")
    assert resolve_path("pairs.tsv", root) == root / "pairs.tsv"
    assert resolve_path("./pairs.tsv", root).samefile("pairs.tsv")
