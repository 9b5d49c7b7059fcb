"""Downloads of repositories over a bad connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.download import TRIES, snapshot
from tests.hub.server import Fault, Hub, pointing, running

FILES = {"config.json": b'{"a": 1}', "model.safetensors": bytes(range(256)) * 1000}
REST = {"checkpoints/1.pt": b"1", "model.h5": b"2"}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with one model, and clients with short timeouts."""
    repositories = {"models/me/model": {**FILES, **REST}}
    with running(repositories) as server, pointing(server, tmp_path / "home"):
        monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        yield server


@pytest.mark.parametrize(
    "fault",
    [
        Fault("^GET .*safetensors", "500", TRIES - 1),
        Fault("^GET .*safetensors", "stall", 2),
        Fault("^GET .*safetensors", "cut", 2),
        Fault("^GET /api/models/.*/revision", "500", TRIES - 1),
        Fault("^GET /api/models/.*/tree", "500", TRIES - 1),
    ],
    ids=lambda fault: f"{fault.kind} {fault.matches}",
)
def test_temporary_failures_are_retried(fault: Fault, hub: Hub) -> None:
    hub.faults = [fault]
    folder = snapshot("me/model")
    assert fault.times == 0
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == FILES


@pytest.mark.parametrize("kind", ["500", "429", "cut", "reset"])
@pytest.mark.parametrize("matches", ["^GET .*safetensors", "^GET /api/models/.*/tree"])
def test_persistent_failures_are_one_error(matches: str, kind: str, hub: Hub) -> None:
    hub.faults = [Fault(matches, kind, 10**6)]
    with pytest.raises(ModelError, match="me/model"):
        local_directory("me/model")


def test_an_unreachable_hub_is_not_retried(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="me/model"):
        local_directory("me/model")
    assert pauses == []


def test_a_file_name_outside_the_folder_is_refused(hub: Hub) -> None:
    hub.repositories["models/me/model"]["../../x.json"] = b"{}"
    with pytest.raises(ModelError, match="me/model"):
        local_directory("me/model")
