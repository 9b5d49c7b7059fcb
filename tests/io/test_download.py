"""A download is whole or not there; what was broken off goes on where it stopped."""

from __future__ import annotations

import gc
import hashlib
import http.client
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paraphrastic_hf.corpora import download, receive
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.archives import is_archive
from paraphrastic_hf.io.download import Remote, cache_folder, fetch
from tests.io.serving import Server, serving

CONTENT = b"".join(b"line %d\n" % number for number in range(1000))
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _no_proxy_and_no_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a download goes on with is asked for from the byte it lacks, as if files were large."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(receive, "OVERLAP", 0)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that would have been waited."""
    seconds: list[float] = []
    monkeypatch.setattr(receive.time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as place:
        yield place


def remote(server: Server, sha256: str | None = SHA256) -> Remote:
    return Remote("a.txt", server.url("a.txt"), sha256)


def kept(folder: Path) -> set[str]:
    """What is in a folder, but for the lock."""
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_a_file_comes_whole_and_alone(server: Server, tmp_path: Path) -> None:
    file = server.serve("a.txt", CONTENT)
    path = fetch(remote(server), tmp_path)
    assert path == tmp_path / "a.txt"
    assert path.read_bytes() == CONTENT
    assert kept(tmp_path) == {"a.txt"}
    assert file.ranges() == [None]


def test_a_file_that_is_there_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    file = server.serve("a.txt", CONTENT)
    fetch(remote(server), tmp_path)
    fetch(remote(server), tmp_path)
    assert len(file.requests) == 1


def test_a_file_may_be_tiny(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", b"x")
    assert fetch(remote(server, None), tmp_path).read_bytes() == b"x"


def test_a_place_may_be_deeper_and_named_by_the_configuration(
    server: Server, tmp_path: Path
) -> None:
    server.serve("en/fr/en-fr.txt", CONTENT)
    template = Remote("{config}/a.{second}.txt", server.url("{first}/{second}/{config}.txt"))
    path = fetch(template.filled("en-fr"), tmp_path)
    assert path == tmp_path / "en-fr" / "a.fr.txt"
    assert path.read_bytes() == CONTENT


def test_another_checksum_is_a_data_error_and_nothing_is_kept(
    server: Server, tmp_path: Path
) -> None:
    server.serve("a.txt", CONTENT + b"changed")
    with pytest.raises(
        DataError, match=rf"a\.txt has the checksum [0-9a-f]{{64}}, expected {SHA256}"
    ):
        fetch(remote(server), tmp_path)
    assert kept(tmp_path) == set()


def test_after_another_checksum_the_right_file_is_taken(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", b"changed")
    with pytest.raises(DataError):
        fetch(remote(server), tmp_path)
    server.serve("a.txt", CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "validators",
    [{"ETag": '"one"'}, {"Last-Modified": "Mon, 02 Jan 2012 03:04:05 GMT"}],
    ids=["ETag", "Last-Modified"],
)
def test_a_broken_connection_goes_on_where_it_stopped(
    validators: dict[str, str], server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, validators=validators, cuts=[HALF])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [None, f"bytes={HALF}-"]
    assert file.requests[1]["If-Range"] in validators.values()
    assert file.sent == [HALF, len(CONTENT) - HALF]
    assert kept(tmp_path) == {"a.txt"}
    assert len(waits) == 1


def test_a_connection_may_break_more_than_once(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, cuts=[1000, 2000, 3000])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [None, "bytes=1000-", "bytes=3000-", "bytes=6000-"]
    assert sum(file.sent) == len(CONTENT)
    assert waits == sorted(waits)


def test_what_came_is_kept_for_the_next_call(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, cuts=[100] * receive.TRIES)
    with pytest.raises(DataError, match=r"400 of .* bytes came; .*a\.txt\.part holds what came"):
        fetch(remote(server), tmp_path)
    assert not (tmp_path / "a.txt").exists()
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges()[-1] == "bytes=400-"
    assert file.sent[-1] == len(CONTENT) - 400


def test_a_file_that_has_changed_between_is_taken_whole(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    server.serve("a.txt", b"x" * len(CONTENT), cuts=[HALF, 0, 0, 0])
    with pytest.raises(DataError):
        fetch(remote(server), tmp_path)
    file = server.serve("a.txt", CONTENT, validators={"ETag": '"two"'})
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.requests[0]["If-Range"] == '"one"'
    assert file.sent == [len(CONTENT)]


def test_what_another_address_began_is_not_gone_on_with(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    server.serve("old.txt", b"x" * len(CONTENT), cuts=[HALF, 0, 0, 0])
    with pytest.raises(DataError):
        fetch(Remote("a.txt", server.url("old.txt")), tmp_path)
    file = server.serve("a.txt", CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [None]


def test_a_server_without_ranges_sends_the_whole_file_again(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, has_ranges=False, cuts=[HALF])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.sent == [HALF, len(CONTENT)]


@pytest.mark.parametrize("validators", [{}, {"ETag": 'W/"weak"'}], ids=["none", "weak"])
def test_without_a_sure_name_of_the_version_a_file_starts_anew(
    validators: dict[str, str], server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, validators=validators, cuts=[HALF])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [None, None]


@pytest.mark.parametrize("state", ["", "{", "[1]"], ids=["empty", "cut", "a list"])
def test_a_damaged_note_of_the_version_starts_the_file_anew(
    state: str, server: Server, tmp_path: Path
) -> None:
    file = server.serve("a.txt", CONTENT)
    (tmp_path / "a.txt.part").write_bytes(b"x" * HALF)
    (tmp_path / "a.txt.part.json").write_text(state, encoding="utf-8")
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [None]


def test_a_beginning_longer_than_the_file_starts_it_anew(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    """The server answers 416; what was there is dropped."""
    server.serve("a.txt", CONTENT, cuts=[HALF, 0, 0, 0])
    with pytest.raises(DataError):
        fetch(remote(server), tmp_path)
    (tmp_path / "a.txt.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_a_server_that_always_says_416_is_a_data_error(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    server.serve("a.txt", CONTENT, statuses=[416] * 10)
    with pytest.raises(DataError, match=r"a\.txt cannot be downloaded"):
        fetch(remote(server), tmp_path)


def test_a_file_the_server_has_not_is_asked_for_once(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    with pytest.raises(DataError, match=r"a\.txt cannot be downloaded: 404"):
        fetch(remote(server), tmp_path)
    assert waits == []
    assert kept(tmp_path) == set()


def test_a_server_in_trouble_is_asked_again(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, statuses=[500, 503])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(file.requests) == 3
    assert len(waits) == 2


def test_a_server_that_stays_in_trouble_is_a_data_error(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    file = server.serve("a.txt", CONTENT, statuses=[500] * 10)
    with pytest.raises(DataError, match=r"a\.txt cannot be downloaded: 500"):
        fetch(remote(server), tmp_path)
    assert len(file.requests) == receive.TRIES


@pytest.mark.parametrize("status", [404, 416, 500])
def test_a_refused_request_is_not_kept_open(
    status: int, server: Server, tmp_path: Path, waits: list[float]
) -> None:
    """What is still open when it is collected warns, and a warning is an error here."""
    server.serve("a.txt", CONTENT, statuses=[status] * 10)
    with pytest.raises(DataError):
        fetch(remote(server), tmp_path)
    gc.collect()


def test_a_server_that_is_gone_is_a_data_error(tmp_path: Path, waits: list[float]) -> None:
    with serving() as gone:
        wanted = remote(gone)
    with pytest.raises(DataError, match=r"a\.txt cannot be downloaded: .*refused"):
        fetch(wanted, tmp_path)
    assert len(waits) == receive.TRIES - 1
    assert kept(tmp_path) == set()


def test_an_encrypted_connection_that_breaks_is_asked_again(
    server: Server, tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `https` raises where `http` sees an early end; it is an OSError and nothing closer."""
    server.serve("a.txt", CONTENT)
    read = http.client.HTTPResponse.read1
    breaks = [ssl.SSLError(8, "EOF occurred in violation of protocol")]

    def read_or_break(response: http.client.HTTPResponse, size: int = -1) -> bytes:
        if breaks:
            raise breaks.pop()
        return read(response, size)

    monkeypatch.setattr(http.client.HTTPResponse, "read1", read_or_break)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def test_two_threads_that_want_a_file_ask_for_it_once(server: Server, tmp_path: Path) -> None:
    file = server.serve("a.txt", CONTENT * 50)
    start = threading.Barrier(2)

    def one(_: int) -> bytes:
        start.wait(timeout=10)
        return fetch(remote(server, None), tmp_path).read_bytes()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == [CONTENT * 50] * 2
    assert len(file.requests) == 1


def test_the_cache_lies_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "home")
    monkeypatch.setenv(download.CACHE_VARIABLE, "chosen")
    assert cache_folder() == Path("chosen")
    monkeypatch.delenv(download.CACHE_VARIABLE)
    assert cache_folder() == Path("home") / "paraphrastic_hf"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a.zip", True), ("a.tar.gz", True), ("a.tgz", True), ("a.tar", True), ("a.gz", False)],
)
def test_an_archive_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert is_archive(name) == is_archive(Path(name)) == is_one
