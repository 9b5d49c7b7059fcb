from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paraphrastic_hf.corpora.export import export
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.hub.publish import publish
from tests.evaluation.sts_files import write_lines, write_sts
from tests.hub.families import hub_of, offline
from tests.hub.server import Fault, Hub

# huggingface_hub uploads large files with a deprecated call of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
KEY = "datasets/me/sts17"
PARQUET = "^GET .*parquet"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """STS 2017, whose license allows a public copy."""
    folder = tmp_path_factory.mktemp("data")
    write_sts(folder / "eval")
    export("sts17", folder / "sts17", data_dir=folder / "eval")
    return folder / "sts17"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with hub_of(tmp_path / "home") as running:
        yield running


def test_a_dataset_is_published_and_loaded_at_a_revision(
    exported: Path, hub: Hub, tmp_path: Path
) -> None:
    address = publish("dataset", exported, "me/sts17")
    assert KEY in hub.public
    commit = address.rpartition("/")[2]
    options = {"revision": commit, "cache_dir": tmp_path / "cache", "token": "hf_test"}
    config = next(path.name for path in sorted(exported.iterdir()) if path.is_dir())
    first = load_dataset("me/sts17", config, **options)
    hub.repositories[KEY].clear()  # the branch moves on, the commit stays
    asked = len(hub.requests)
    again = load_dataset("me/sts17", config, **options, local_files_only=True)
    assert len(hub.requests) == asked
    assert {name: list(rows) for name, rows in again.items()} == {
        name: list(rows) for name, rows in first.items()
    }
    with offline():
        load_dataset("me/sts17", config, **options)


def test_download_faults_are_retried_or_reported(exported: Path, hub: Hub, tmp_path: Path) -> None:
    publish("dataset", exported, "me/sts17")
    config = next(path.name for path in sorted(exported.iterdir()) if path.is_dir())

    def load(name: str) -> None:
        load_dataset("me/sts17", config, cache_dir=tmp_path / name)

    for kind, times in (("500", 2), ("cut", 1)):
        hub.faults = [Fault(PARQUET, kind, times)]
        load(kind)
        assert hub.faults[0].times == 0
    hub.faults = [Fault(PARQUET, "500", 10**6)]
    with pytest.raises(DataError):
        load("always")
    hub.faults = []
    for path in [path for path in hub.repositories[KEY] if path.endswith(".parquet")]:
        hub.repositories[KEY][path] = hub.repositories[KEY][path][:50]
    with pytest.raises(DataError):
        load("half")
    with pytest.raises(DataError):
        load_dataset("me/absent", cache_dir=tmp_path / "absent")


def test_a_corpus_without_a_public_license_is_published_privately(hub: Hub, tmp_path: Path) -> None:
    write_lines(tmp_path / "MR" / "rt-polarity.neg", ["bad"])
    write_lines(tmp_path / "MR" / "rt-polarity.pos", ["good", "fine"])
    export("mr", tmp_path / "mr", data_dir=tmp_path / "MR")
    with pytest.raises(DataError):
        publish("dataset", tmp_path / "mr", "me/mr")
    publish("dataset", tmp_path / "mr", "me/mr", private=True)
    assert "datasets/me/mr" not in hub.public
    assert "export.json" not in hub.repositories["datasets/me/mr"]


def test_wrong_repository_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        load_dataset("me/sts17", revison="main")
    with pytest.raises(DataError):
        load_dataset("me/sts17", data_dir=os.fspath(tmp_path))
