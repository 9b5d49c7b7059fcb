"""Names and paths of models."""

from typing import Any

import huggingface_hub
import pytest

from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name, local_directory
from paraphrastic_hf.errors import ModelError


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with two trained models."""
    monkeypatch.chdir(tmp_path)
    for name in ("word", "trigram"):
        (tmp_path / "trained" / name).mkdir(parents=True)
        (tmp_path / "trained" / name / "config.json").touch()
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """Names looked up on the Hub, which has no models."""
    names: list[str] = []

    def snapshot_download(name: str, **_: Any) -> str:
        names.append(name)
        raise OSError("no network in this test")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return names


@pytest.mark.parametrize(
    "name",
    [
        *("/no/such", "./sp", "../sp", "~/sp", "runs/sp", "a/b/c", "sp/", "trained/char"),
        *("C:\\models\\sp", "model.pt", "someone/model.safetensors", "vectors.txt.gz"),
    ],
)
def test_paths_are_not_looked_up_on_the_hub(name, here, asked):
    for load in (local_directory, load_encoder):
        with pytest.raises(ModelError):
            load(name)
    assert asked == []


def test_files_and_misspelled_paths_are_refused(here):
    (here / "sp").touch()
    given = ("trained/wrod", "trained/word"), (here / "trained/trigrams", "trigram"), ("sp", "sp")
    for name, named in given:
        with pytest.raises(ModelError, match=named):
            check_model_name(name)


@pytest.mark.parametrize("name", ["someone/sp", "all-MiniLM-L6-v2", "gpt2", "someone/english-2.0"])
def test_other_names_are_looked_up_on_the_hub(name, here, asked):
    with pytest.raises(ModelError):
        local_directory(name)
    assert asked == [name]


@pytest.mark.parametrize(
    "name", ["english", "multilingual", "tiny", "simile", "trained/word", "trained", "englsh"]
)
def test_existing_models_and_folders_are_accepted(name, here):
    (here / "englsh").mkdir()
    check_model_name(name)
