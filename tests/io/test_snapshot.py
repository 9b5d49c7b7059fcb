"""A repository comes whole though the way to it is bad."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io import receive
from paraphrastic_hf.io.snapshot import MOST_REFUSALS, TRIES, snapshot
from tests.hub.server import Fault, Hub, pointing, running

FILES = {"config.json": b'{"a": 1}', "model.safetensors": bytes(range(256)) * 1000}
OWN_TRIES = 6  # of huggingface_hub, for a file of which nothing comes


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with one model, and clients that wait a short time and pause for none."""
    repositories = {"models/me/model": dict(FILES)}
    with running(repositories) as server, pointing(server, tmp_path / "home"):
        monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        yield server


@pytest.mark.parametrize(
    "fault",
    [
        Fault("^GET .*safetensors", "stall", OWN_TRIES),
        Fault("^GET .*safetensors", "reset"),
        Fault("^GET .*safetensors", "cut", OWN_TRIES),
        Fault("^HEAD .*safetensors", "cut", 2),
        Fault("^GET /api/models/.*/revision", "cut"),
        Fault("^GET /api/models/.*/tree", "reset", TRIES - 1),
    ],
    ids=lambda fault: f"{fault.kind} {fault.matches}",
)
def test_what_breaks_off_or_stalls_is_asked_for_again(fault: Fault, hub: Hub) -> None:
    hub.faults = [fault]
    folder = snapshot("me/model")
    assert fault.times == 0
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES


def test_what_always_breaks_off_ends(hub: Hub) -> None:
    hub.faults = [Fault("^GET /api/models/.*/revision", "cut", 10**6)]
    with pytest.raises(Exception, match="peer closed connection"):
        snapshot("me/model")
    asked = [request for request in hub.requests if "/revision/" in request]
    assert len(asked) == TRIES


def test_where_no_connection_is_made_nothing_is_asked_again(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(OSError, match="ConnectError"):
        snapshot("me/model")
    assert pauses == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("^GET .*safetensors", "trickle", 10**6),
        Fault("^GET .*safetensors", "trickle head", 10**6),
        Fault("^HEAD .*safetensors", "trickle head", 10**6),
        Fault("^GET /api/models/.*/tree", "trickle", 10**6),
    ],
    ids=lambda fault: f"{fault.kind} {fault.matches}",
)
def test_what_always_trickles_ends(fault: Fault, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive, "TIMEOUT_SECONDS", 0.3)
    hub.faults = [fault]
    with pytest.raises(ModelError, match="me/model"):
        local_directory("me/model")


@pytest.mark.parametrize("matches", ["^GET .*safetensors", "^GET /api/models/.*/tree"])
@pytest.mark.parametrize("wait", ["0", "86400"])
def test_what_always_refuses_ends(matches: str, wait: str, hub: Hub) -> None:
    hub.faults = [Fault(matches, "429", 10**6, wait)]
    with pytest.raises(ModelError, match=r"me/model.*429"):
        local_directory("me/model")
    assert len(hub.requests) < 3 * MOST_REFUSALS
    assert wait == "0" or sum(bool(re.search(matches, each)) for each in hub.requests) == 1
