import hashlib
import io
import logging
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io import download
from paraphrastic_hf.io.download import TRIES, Remote, cache_folder, fetch, snapshot
from tests.hub.server import Fault, pointing, running
from tests.io.packed import names
from tests.io.serving import Server, serving

CONTENT = b"".join(b"line %d\n" % number for number in range(1000))
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PAGE = b"\n<!DOCTYPE html>\n<html><head><title>Log in</title></head></html>\n"


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.fixture
def server():
    with serving() as place:
        yield place


def remote(server: Server, name: str = "a.txt", **known: Any) -> Remote:
    return Remote(name, server.url(name), **known)


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"in/{name}.txt", content)
    return buffer.getvalue()


def refused(wanted: Remote, folder: Path, text: str = "") -> None:
    """The one-line error names the URL, and no file is left."""
    before = names(folder)
    with pytest.raises(DataError) as error:
        fetch(wanted, folder)
    assert wanted.url in str(error.value)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert names(folder) == before


def test_a_file_is_downloaded_once(server, tmp_path):
    file = server.serve("en/fr/en-fr.txt", CONTENT)
    template = Remote("{config}/a.{second}.txt", server.url("{first}/{second}/{config}.txt"))
    for _ in range(2):
        path = fetch(template.filled("en-fr"), tmp_path)
        assert path == tmp_path / "en-fr" / "a.fr.txt"
        assert path.read_bytes() == CONTENT
    assert len(file.requests) == 1


def test_a_wrong_checksum_is_refused(server, tmp_path):
    wanted = remote(server, sha256=SHA256, size=len(CONTENT))
    for wrong in (CONTENT + b"x", CONTENT[:-1], b"", PAGE):
        server.serve("a.txt", wrong)
        refused(wanted, tmp_path)
    server.serve("a.txt", CONTENT)
    assert fetch(wanted, tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == {"a.txt"}
    fetch(wanted, tmp_path).write_bytes(CONTENT[:-1])  # damaged later
    assert fetch(wanted, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [PAGE, b""])
def test_web_pages_and_empty_files_are_refused(wrong, server, tmp_path):
    server.serve("a.gz", wrong)
    refused(remote(server, "a.gz"), tmp_path, "a.gz")


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_download_is_resumed(has_ranges, server, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100)  # only whole chunks are kept
    file = server.serve("a.txt", CONTENT, cuts=[1000, 2000], has_ranges=has_ranges)
    assert fetch(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT
    second = 3000 if has_ranges else 2000
    assert file.requests == [None, "bytes=1000-", f"bytes={second}-"]


@pytest.mark.parametrize("statuses", [[500, 429, 503], [200, 500, 502]])
def test_server_errors_are_retried(statuses, server, tmp_path):
    cuts = [HALF] if statuses[0] == 200 else []
    file = server.serve("a.txt", CONTENT, statuses=statuses, cuts=cuts)
    assert fetch(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert len(file.requests) == 4


@pytest.mark.parametrize(
    ("status", "cuts", "tries"), [(404, [], 1), (500, [], TRIES), (200, [0] * 100, TRIES)]
)
def test_persistent_errors_are_reported(status, cuts, tries, server, tmp_path, monkeypatch):
    file = server.serve("a.txt", CONTENT, statuses=[status] * 10, cuts=cuts)
    refused(remote(server), tmp_path, "" if status == 200 else str(status))
    assert len(file.requests) == tries or cuts  # huggingface_hub resumes by itself
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving() as gone:
        pass
    refused(remote(gone), tmp_path)


def test_concurrent_downloads_are_done_once(server, tmp_path):
    file = server.serve("a.zip", zipped(a=CONTENT * 50))
    start = threading.Barrier(2)

    def one(_: int) -> bytes:
        start.wait(timeout=10)
        return (fetch(remote(server, "a.zip"), tmp_path) / "in" / "a.txt").read_bytes()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == [CONTENT * 50] * 2
    assert len(file.requests) == 1


def test_a_damaged_archive_is_downloaded_again(server, tmp_path):
    good = zipped(a=CONTENT)
    server.serve("a.zip", good[:-30])
    with pytest.raises(DataError):
        fetch(remote(server, "a.zip"), tmp_path)
    assert names(tmp_path) == set()
    server.serve("a.zip", good)
    assert (fetch(remote(server, "a.zip"), tmp_path) / "in" / "a.txt").read_bytes() == CONTENT


def test_an_unverified_file_is_compared_with_the_first_one(server, tmp_path, caplog):
    server.serve("a.txt", CONTENT)
    with caplog.at_level(logging.WARNING, logger=download.__name__):
        fetch(remote(server), tmp_path).unlink()
        assert SHA256 in caplog.text
        caplog.clear()
        fetch(remote(server), tmp_path).unlink()
        assert not caplog.records
    server.serve("a.txt", b"new\n")
    refused(remote(server), tmp_path, SHA256)
    server.serve("b.txt", b"other\n")
    elsewhere = Remote("a.txt", server.url("b.txt"))
    assert fetch(elsewhere, tmp_path).read_bytes() == b"other\n"
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt.first").unlink()
    assert fetch(remote(server), tmp_path).read_bytes() == b"new\n"


def test_an_archive_is_verified_by_its_members(server, tmp_path):
    members = {"**/*.txt": (hashlib.sha256(b"one\ntwo\n").hexdigest(), 8)}
    wanted = remote(server, "a.zip", members=members)
    for wrong in (zipped(b=b"TWO\n", a=b"one\n"), zipped(a=b"one\n"), zipped()):
        server.serve("a.zip", wrong)
        refused(wanted, tmp_path, members["**/*.txt"][0])
    server.serve("a.zip", zipped(b=b"two\n", a=b"one\n"))
    assert (fetch(wanted, tmp_path) / "in" / "b.txt").read_bytes() == b"two\n"
    assert names(tmp_path) == {"a.zip", "a.zip.unpacked"}


def test_the_variable_sets_the_cache_folder(monkeypatch):
    monkeypatch.setenv("HF_HOME", "home")
    monkeypatch.setenv(download.CACHE_VARIABLE, "chosen")
    assert cache_folder() == Path("chosen")
    monkeypatch.delenv(download.CACHE_VARIABLE)
    assert cache_folder() == Path("home") / "paraphrastic_hf"


FILES = {"config.json": b'{"a": 1}', "model.safetensors": bytes(range(256)) * 1000}
REST = {"checkpoints/1.pt": b"1", "model.h5": b"2"}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A Hub with one model, and clients with short timeouts."""
    repositories = {"models/me/model": {**FILES, **REST}}
    with running(repositories) as server, pointing(server, tmp_path / "home"):
        monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
        yield server


@pytest.mark.parametrize(
    ("matches", "kind", "times"),
    [
        *(("safetensors", kind, 2) for kind in ("stall", "cut")),
        *((name, "500", TRIES - 1) for name in ("safetensors", "models/.*/revision", "/tree")),
    ],
)
def test_temporary_failures_are_retried(matches, kind, times, hub):
    fault = Fault(f"^GET .*{matches}", kind, times)
    hub.faults = [fault]
    folder = snapshot("me/model")
    assert fault.times == 0
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == FILES


@pytest.mark.parametrize(
    ("matches", "kind"), [("safetensors", "500"), ("/tree", "429"), ("safetensors", "cut")]
)
def test_persistent_failures_are_one_error(matches, kind, hub):
    hub.faults = [Fault(f"^GET .*{matches}", kind, 10**6)]
    with pytest.raises(ModelError):
        local_directory("me/model")
