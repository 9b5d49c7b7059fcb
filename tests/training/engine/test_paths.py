"""Paths in recipes are looked up under the data root and the working folder."""

import re
from pathlib import Path

import pytest

from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.training.engine.paths import DATA_ROOT_VARIABLE, resolve_model, resolve_path


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data root beside the working folder."""
    for name in ("data", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv(DATA_ROOT_VARIABLE, raising=False)
    return tmp_path / "data"


def test_a_model_is_looked_up_under_the_data_root_first(root):
    assert resolve_model("english", root) == "english"
    assert resolve_model("someone/model", None) == "someone/model"
    trained = Path("runs/de-en")
    trained.mkdir(parents=True)
    assert resolve_model("runs/de-en", root) == trained
    (root / "runs" / "de-en").mkdir(parents=True)
    assert resolve_model("runs/de-en", root) == root / "runs" / "de-en"


def test_the_paths_that_were_tried_are_named(root):
    with pytest.raises(ModelError, match=f"{root}/runs/de-en.*{Path.cwd()}/runs/de-en"):
        resolve_model("runs/de-en", root)
    for name in ("a.tsv", "*.tsv", "/absent.tsv"):
        with pytest.raises(RecipeError, match=re.escape(name)):
            resolve_path(name, root)


def test_a_dot_path_is_looked_up_under_the_working_folder_first(root):
    (root / "pairs.tsv").write_text("a\tb\n", encoding="utf-8")
    assert resolve_path("./pairs.tsv", root) == root / "pairs.tsv"
    Path("pairs.tsv").write_text("c\td\n", encoding="utf-8")
    assert resolve_path("pairs.tsv", root) == root / "pairs.tsv"
    assert resolve_path("./pairs.tsv", root).samefile("pairs.tsv")
