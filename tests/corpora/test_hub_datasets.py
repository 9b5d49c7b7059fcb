import os

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.corpora.export import export
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.hub.publish import publish
from tests.evaluation.sts_files import write_lines, write_sts
from tests.hub.families import hub_of, offline
from tests.hub.server import Fault

# huggingface_hub uploads large files with a deprecated call of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
KEY = "datasets/me/sts17"
PARQUET = "^GET .*parquet"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """STS 2017, whose license allows a public copy."""
    folder = tmp_path_factory.mktemp("data")
    write_sts(folder / "eval")
    export("sts17", folder / "sts17", configs=["en-en"], data_dir=folder / "eval")
    return folder / "sts17"


@pytest.fixture
def hub(tmp_path):
    with hub_of(tmp_path / "home") as running:
        yield running


def test_a_dataset_is_published_and_loaded_at_a_revision(exported, hub, tmp_path):
    address = publish("dataset", exported, "me/sts17")
    assert KEY in hub.public
    commit = address.rpartition("/")[2]
    options = {"revision": commit, "cache_dir": tmp_path / "cache", "token": "hf_test"}
    first = load_dataset("me/sts17", "en-en", **options)
    hub.repositories[KEY].clear()  # the branch moves on, the commit stays
    asked = len(hub.requests)
    again = load_dataset("me/sts17", "en-en", **options, local_files_only=True)
    assert len(hub.requests) == asked
    assert list(again["test"]) == list(first["test"])
    with offline():
        load_dataset("me/sts17", "en-en", **options)


def test_download_faults_are_retried_or_reported(exported, hub, tmp_path):
    publish("dataset", exported, "me/sts17")

    def load(name):
        load_dataset("me/sts17", "en-en", cache_dir=tmp_path / name)

    for kind, times in (("500", 2), ("cut", 1)):
        hub.faults = [Fault(PARQUET, kind, times)]
        load(kind)
        assert hub.faults[0].times == 0
    hub.faults = [Fault(PARQUET, "500", 10**6)]
    with pytest.raises(DataError):
        load("always")
    hub.faults = []
    hub.repositories[KEY]["en-en/test-00000.parquet"] = b"PAR1 half"
    with pytest.raises(DataError):
        load("half")
    with pytest.raises(DataError):
        load_dataset("me/absent", cache_dir=tmp_path / "absent")


def test_a_corpus_without_a_public_license_is_published_privately(hub, tmp_path):
    write_lines(tmp_path / "MR" / "rt-polarity.neg", ["bad"])
    write_lines(tmp_path / "MR" / "rt-polarity.pos", ["good", "fine"])
    export("mr", tmp_path / "mr", data_dir=tmp_path / "MR")
    with pytest.raises(DataError):
        publish("dataset", tmp_path / "mr", "me/mr")
    publish("dataset", tmp_path / "mr", "me/mr", private=True)
    assert "datasets/me/mr" not in hub.public
    assert "export.json" not in hub.repositories["datasets/me/mr"]


def test_an_export_may_be_pushed_to_an_existing_public_repository(exported, hub, tmp_path):
    publish("dataset", exported, "me/sts17")
    command = ["data", "export", "sts17", "--config", "en-en", "--push", "me/sts17"]
    command += ["--data", str(exported.parent / "eval"), "--output", str(tmp_path / "new")]
    assert main(command) == 0


def test_wrong_repository_options_are_refused(tmp_path):
    with pytest.raises(TypeError):
        load_dataset("me/sts17", revison="main")
    with pytest.raises(DataError):
        load_dataset("me/sts17", data_dir=os.fspath(tmp_path))
