"""What a server may do wrong: each fault is put right or one clear error, and nothing bad stays."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import io
import logging
import shutil
import ssl
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io import receive
from paraphrastic_hf.io.download import Remote, fetch
from tests.io.serving import Server, serving

CONTENT = b"".join(b"line %d\n" % number for number in range(1000))
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PAGE = b"<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Name:</body></html>\n"
Waits = list[float]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(receive, "OVERLAP", 64)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """The seconds that would have been waited."""
    seconds: Waits = []
    monkeypatch.setattr(receive.time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as place:
        yield place


def remote(server: Server, name: str = "a.txt", **known: Any) -> Remote:
    return Remote(name, server.url(name), **known)


def kept(folder: Path) -> set[str]:
    """What is in a folder, but for locks."""
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def refused(wanted: Remote, folder: Path, message: str) -> None:
    """One error that names the address; nothing of the file stays."""
    before = kept(folder)
    with pytest.raises(DataError, match=message) as error:
        fetch(wanted, folder)
    assert wanted.url in str(error.value)
    assert "\n" not in str(error.value)
    assert kept(folder) == before


# --- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [-1, 1], ids=["short", "long"])
@pytest.mark.parametrize("length", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("sha256", ["0" * 64, None], ids=["checksum", "none"])
def test_another_number_of_bytes_than_on_record_is_refused(
    more: int, length: bool, sha256: str | None, server: Server, tmp_path: Path, waits: Waits
) -> None:
    headers = {} if length else {"Content-Length": None}
    server.serve("a.txt", CONTENT, headers=headers)
    wanted = remote(server, sha256=sha256, size=len(CONTENT) + more)
    refused(wanted, tmp_path, rf"{len(CONTENT) + more:,}")
    assert waits == []


def test_the_size_on_record_is_enough_where_no_length_is_declared(
    server: Server, tmp_path: Path
) -> None:
    server.serve("a.txt", CONTENT, headers={"Content-Length": None})
    assert fetch(remote(server, size=len(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_a_body_longer_than_the_size_on_record_is_cut_off(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", CONTENT, headers={"Content-Length": None})
    refused(remote(server, size=100), tmp_path, "sends more than the 100 bytes it should have")


def test_a_short_body_is_asked_for_again_and_named(
    server: Server, tmp_path: Path, waits: Waits
) -> None:
    server.serve("a.txt", CONTENT, cuts=[0] * receive.TRIES)
    with pytest.raises(DataError, match=rf"0 of {len(CONTENT):,} bytes came"):
        fetch(remote(server), tmp_path)
    assert "a.txt" not in kept(tmp_path)
    assert len(waits) == receive.TRIES - 1


def test_a_packed_file_cut_short_without_a_length_is_refused(
    server: Server, tmp_path: Path
) -> None:
    packed = gzip.compress(CONTENT)
    server.serve("a.gz", packed[:-20], headers={"Content-Length": None})
    refused(remote(server, "a.gz"), tmp_path, r"gave a damaged \.gz file")
    server.serve("a.gz", packed, headers={"Content-Length": None})
    assert gzip.decompress(fetch(remote(server, "a.gz"), tmp_path).read_bytes()) == CONTENT


@pytest.mark.parametrize("content_range", [f"bytes 0-99/{len(CONTENT)}", "bytes 0-99/*", None])
def test_a_part_where_the_whole_was_asked_for_is_refused(
    content_range: str | None, server: Server, tmp_path: Path
) -> None:
    headers = {"Content-Range": content_range}
    server.serve("a.txt", CONTENT[:100], status=206, headers=headers)
    refused(remote(server), tmp_path, "asked for the whole file, the server sent a part")


@pytest.mark.parametrize(
    "length",
    ["abc", "-1", "1e3", "", " ", "0x10", "+5", "1_000", "٣", "12, 12", "9" * 5000],
    ids=lambda text: repr(text[:8]),
)
def test_a_length_that_is_no_number_is_one_error(
    length: str, server: Server, tmp_path: Path, waits: Waits
) -> None:
    if not length.isascii():  # headers are latin-1
        length = length.encode().decode("latin-1")
    server.serve("a.txt", CONTENT, headers={"Content-Length": length})
    refused(remote(server), tmp_path, "its Content-Length is '")
    assert waits == []


def test_a_cached_file_of_another_size_is_named(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", CONTENT)
    wanted = remote(server, sha256=SHA256, size=len(CONTENT))
    path = fetch(wanted, tmp_path)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=r"a\.txt has 8,889 bytes, expected 8,890; delete it"):
        fetch(wanted, tmp_path)
    path.unlink()
    assert fetch(wanted, tmp_path).read_bytes() == CONTENT


# --- something else than the file ----------------------------------------------------------------


@pytest.mark.parametrize("status", [201, 202, 203, 204, 205, 226])
def test_an_answer_without_a_file_is_refused(status: int, server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", b"", status=status)
    refused(remote(server), tmp_path, rf"the server answered {status} .*without a file")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_an_encoding_that_was_not_asked_for_is_refused(
    coding: str, server: Server, tmp_path: Path
) -> None:
    packed = gzip.compress(CONTENT)
    server.serve("a.txt", packed, headers={"Content-Encoding": coding})
    refused(remote(server), tmp_path, f"it comes encoded as '{coding}'")
    server.serve("a.gz", packed, headers={"Content-Encoding": "x-gzip"})  # Apache's name of .gz
    assert fetch(remote(server, "a.gz"), tmp_path).read_bytes() == packed


def test_an_empty_file_is_refused(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", b"")
    refused(remote(server), tmp_path, r"gave an empty file where a\.txt was expected")


@pytest.mark.parametrize(
    "page",
    [
        PAGE,
        b"\xef\xbb\xbf\r\n " + PAGE,
        b"<HTML><BODY>moved</BODY></HTML>",
        b"<!-- a -->\n<!-- b\n c -->\n<html>",
        b'<?xml version="1.0"?>\n' + PAGE,
        b"<script>location='/login'</script>",
    ],
    ids=range(6),
)
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "text/plain", None])
@pytest.mark.parametrize("name", ["a.txt", "a.zip", "a.gz"])
def test_a_web_page_where_a_corpus_was_expected_is_refused(
    page: bytes, kind: str | None, name: str, server: Server, tmp_path: Path
) -> None:
    server.serve(name, page, headers={"Content-Type": kind})
    refused(remote(server, name), tmp_path, "gave a web page where")
    refused(remote(server, name, sha256=SHA256), tmp_path, "gave a web page where")


def test_what_calls_itself_a_page_is_one(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", b"Please log in.\n", headers={"Content-Type": "Text/HTML"})
    refused(remote(server), tmp_path, "gave a web page where")


@pytest.mark.parametrize("line", [b"<s> a < b </s>\n", b"<htmlish> word\n", b"a <html> b\n"])
def test_text_with_brackets_is_no_page(line: bytes, server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", line, headers={"Content-Type": "text/plain"})
    assert fetch(remote(server), tmp_path).read_bytes() == line


def test_a_file_of_the_right_checksum_is_no_page_whatever_it_is_called(
    server: Server, tmp_path: Path
) -> None:
    server.serve("a.txt", CONTENT, headers={"Content-Type": "text/html"})
    assert fetch(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT


def test_a_packed_file_is_no_page_though_the_server_calls_it_one(
    server: Server, tmp_path: Path
) -> None:
    packed = gzip.compress(CONTENT)
    server.serve("a.gz", packed, headers={"Content-Type": "text/html"})
    assert fetch(remote(server, "a.gz"), tmp_path).read_bytes() == packed


@pytest.mark.parametrize("name", ["a.zip", "a.gz", "a.tgz", "a.xz", "a.bz2", "a.tar.gz"])
def test_text_where_an_archive_was_expected_is_refused(
    name: str, server: Server, tmp_path: Path
) -> None:
    server.serve(name, b'{"error": "no such file"}\n')
    refused(remote(server, name), tmp_path, r"gave something that is no \.")


def test_a_damaged_archive_is_not_met_again(server: Server, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", CONTENT)
    server.serve("a.zip", buffer.getvalue()[:-30])
    with pytest.raises(DataError, match="damaged archive"):
        fetch(remote(server, "a.zip"), tmp_path)
    assert kept(tmp_path) == set()
    server.serve("a.zip", buffer.getvalue())
    assert (fetch(remote(server, "a.zip"), tmp_path) / "a.txt").read_bytes() == CONTENT


def test_a_damaged_archive_that_is_there_names_the_way_out(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK damaged")  # killed before it was unpacked
    with pytest.raises(DataError, match=r"damaged archive.*; delete .*a\.zip to download it again"):
        fetch(remote(server, "a.zip"), tmp_path)


def test_an_encrypted_address_that_leads_to_a_plain_one_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve("a.txt", CONTENT)
    address = server.url("a.txt")
    encrypted = address.replace("http:", "https:")

    def redirected(_: urllib.request.Request) -> Any:
        return urllib.request.urlopen(address)

    monkeypatch.setattr(receive, "_open", redirected)
    refused(Remote("a.txt", encrypted), tmp_path, "is not encrypted; it was not followed")


@pytest.fixture
def encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A key and a certificate of this machine, which connections trust."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: no certificate to serve https with")
    folder = tmp_path / "certificate"
    folder.mkdir()
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return key, certificate


def test_an_encrypted_download_is_whole_and_its_head_may_not_trickle(
    encrypted: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: Waits
) -> None:
    key, certificate = encrypted
    folder = tmp_path / "to"
    folder.mkdir()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as server:
        assert server.address.startswith("https://localhost:")
        server.serve("a.txt", CONTENT, cuts=[HALF])
        assert fetch(remote(server, sha256=SHA256), folder).read_bytes() == CONTENT
        server.serve("b.txt", CONTENT, slow_head=True)
        monkeypatch.setattr(receive, "TIMEOUT_SECONDS", 0.5)
        monkeypatch.setattr(receive, "TRIES", 2)
        refused(remote(server, "b.txt"), folder, "cannot be downloaded")
        monkeypatch.delenv("SSL_CERT_FILE")
        refused(remote(server, "a.txt2"), folder, "certificate verify failed")


# --- going on ------------------------------------------------------------------------------------


def broken_off(server: Server, folder: Path, content: bytes = CONTENT) -> None:
    """Half of a file is there."""
    server.serve("a.txt", content, cuts=[HALF] + [0] * receive.TRIES, has_ranges=True)
    with pytest.raises(DataError, match="holds what came"):
        fetch(remote(server), folder)
    assert (folder / "a.txt.part").stat().st_size == HALF


def test_the_last_bytes_are_asked_for_again(server: Server, tmp_path: Path, waits: Waits) -> None:
    broken_off(server, tmp_path)
    file = server.serve("a.txt", CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.ranges() == [f"bytes={HALF - 64}-"]
    assert file.sent == [len(CONTENT) - HALF + 64]


def test_other_bytes_under_one_etag_are_refused(
    server: Server, tmp_path: Path, waits: Waits
) -> None:
    broken_off(server, tmp_path)
    server.serve("a.txt", CONTENT[::-1])
    with pytest.raises(DataError, match="changed while it was downloaded, though the server gives"):
        fetch(remote(server), tmp_path)
    assert kept(tmp_path) == set()
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT[::-1]


def test_another_length_under_one_etag_starts_the_file_anew(
    server: Server, tmp_path: Path, waits: Waits
) -> None:
    broken_off(server, tmp_path)
    file = server.serve("a.txt", CONTENT + b"more\n")
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT + b"more\n"
    assert file.ranges() == [f"bytes={HALF - 64}-", None]


def test_other_bytes_before_the_last_ones_are_seen_by_the_checksum(
    server: Server, tmp_path: Path, waits: Waits
) -> None:
    broken_off(server, tmp_path, b"X" + CONTENT[1:])
    server.serve("a.txt", CONTENT)
    wanted = remote(server, sha256=SHA256)
    with pytest.raises(DataError, match="has the checksum"):
        fetch(wanted, tmp_path)
    assert kept(tmp_path) == set()
    assert fetch(wanted, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("content_range", ["bytes 5-9/10", "lines 1-2/3", "", None, "bytes 1-2"])
def test_a_part_from_elsewhere_is_refused(
    content_range: str | None, server: Server, tmp_path: Path, waits: Waits
) -> None:
    broken_off(server, tmp_path)
    server.serve("a.txt", CONTENT, headers={"Content-Range": content_range})
    with pytest.raises(DataError, match=rf"asked for the bytes from {HALF - 64:,} on"):
        fetch(remote(server), tmp_path)
    assert kept(tmp_path) == set()


def test_a_whole_part_needs_only_its_name(server: Server, tmp_path: Path, waits: Waits) -> None:
    broken_off(server, tmp_path)
    (tmp_path / "a.txt.part").write_bytes(CONTENT)  # killed before it was renamed
    file = server.serve("a.txt", CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert file.sent == [64]


# --- waiting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 429, 503])
def test_a_busy_server_is_asked_again_when_it_says(
    status: int, server: Server, tmp_path: Path, waits: Waits
) -> None:
    file = server.serve("a.txt", CONTENT, statuses=[(status, {"Retry-After": "7"}), status])
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(file.requests) == 3
    assert waits == [7, 2]  # the second time it names no delay


def test_a_delay_may_be_a_date(server: Server, tmp_path: Path, waits: Waits) -> None:
    until = email.utils.formatdate(time.time() + 50, usegmt=True)
    server.serve("a.txt", CONTENT, statuses=[(429, {"Retry-After": until})])
    fetch(remote(server), tmp_path)
    assert 40 < waits[0] <= 50


@pytest.mark.parametrize("value", ["", "soon", "-5", "Mon, 99 Foo 2012 00:00:00 GMT", "1.5"])
def test_a_delay_that_is_none_is_our_own(
    value: str, server: Server, tmp_path: Path, waits: Waits
) -> None:
    server.serve("a.txt", CONTENT, statuses=[(429, {"Retry-After": value})])
    fetch(remote(server), tmp_path)
    assert waits == [1]


@pytest.mark.parametrize("value", ["3600", "9" * 400, "Fri, 01 Jan 9999 00:00:00 GMT"])
def test_a_long_delay_is_named_and_not_waited_for(
    value: str, server: Server, tmp_path: Path, waits: Waits
) -> None:
    server.serve("a.txt", CONTENT, statuses=[(429, {"Retry-After": value})])
    refused(remote(server), tmp_path, r"429 .*; the server asks to wait [\d,]+ seconds")
    assert waits == []


def test_a_server_that_stays_busy_is_asked_four_times(
    server: Server, tmp_path: Path, waits: Waits
) -> None:
    file = server.serve("a.txt", CONTENT, statuses=[(429, {"Retry-After": "120"})] * 9)
    refused(remote(server), tmp_path, "429 Too Many Requests; the server asks to wait 120 seconds")
    assert len(file.requests) == receive.TRIES == 4
    assert waits == [120] * 3  # at most: the bound of the whole wait


# --- stalling ------------------------------------------------------------------------------------


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits in tenths of a second, and two tries."""
    monkeypatch.setattr(receive, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(receive, "TRIES", 2)


@pytest.mark.usefixtures("hasty", "waits")
def test_a_trickle_ends(server: Server, tmp_path: Path) -> None:
    """100 bytes a second come without a pause that a timeout would see."""
    file = server.serve("a.txt", CONTENT[:1000], trickle=100)
    begin = time.monotonic()
    with pytest.raises(DataError, match=r"stalled: \d+ bytes came in 0 seconds"):
        fetch(remote(server), tmp_path)
    assert time.monotonic() - begin < 5
    assert len(file.requests) == 2
    assert 0 < (tmp_path / "a.txt.part").stat().st_size < 200


@pytest.mark.usefixtures("hasty")
def test_what_comes_slowly_but_surely_is_waited_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "SLOWEST", 10)
    file = server.serve("a.txt", CONTENT[:150], trickle=150)  # a second, in three windows
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT[:150]
    assert len(file.requests) == 1


@pytest.mark.usefixtures("hasty", "waits")
def test_a_body_that_stops_ends(server: Server, tmp_path: Path) -> None:
    server.serve("a.txt", CONTENT, trickle=0.2)
    begin = time.monotonic()
    with pytest.raises(DataError, match=r"a\.txt cannot be downloaded: .*timed out"):
        fetch(remote(server), tmp_path)
    assert time.monotonic() - begin < 5


@pytest.mark.usefixtures("hasty", "waits")
def test_a_head_that_trickles_ends(server: Server, tmp_path: Path) -> None:
    """Each byte comes in time, the head never."""
    file = server.serve("a.txt", CONTENT, slow_head=True)
    begin = time.monotonic()
    refused(remote(server), tmp_path, "cannot be downloaded: the head of the answer took over 0.3")
    assert time.monotonic() - begin < 5
    assert len(file.requests) == 2


# --- what is remembered --------------------------------------------------------------------------


def test_a_file_without_a_record_is_written_down_and_called_unverified(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.serve("a.txt", CONTENT)
    with caplog.at_level(logging.INFO):
        fetch(remote(server), tmp_path)
    assert kept(tmp_path) == {"a.txt", "a.txt.first"}
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    for part in (server.url("a.txt"), "is unverified", SHA256, "8,890 bytes", "a.txt.first"):
        assert part in record.getMessage()
    assert SHA256 in (tmp_path / "a.txt.first").read_text(encoding="utf-8")


def test_a_verified_file_is_taken_without_a_word(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.serve("a.txt", CONTENT)
    fetch(remote(server, sha256=SHA256, size=len(CONTENT)), tmp_path)
    assert kept(tmp_path) == {"a.txt"}
    assert caplog.records == []


def test_other_bytes_than_the_first_time_are_refused_and_named(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.serve("a.txt", CONTENT)
    fetch(remote(server), tmp_path).unlink()
    server.serve("a.txt", CONTENT + b"new\n")
    changed = hashlib.sha256(CONTENT + b"new\n").hexdigest()
    refused(
        remote(server), tmp_path, rf"checksum {SHA256} on \d{{4}}-.* now gives one of {changed}"
    )
    server.serve("a.txt", CONTENT)
    caplog.clear()
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT  # as the first time
    assert caplog.records == []


def test_the_new_bytes_are_taken_after_the_old_record_is_deleted(
    server: Server, tmp_path: Path
) -> None:
    server.serve("a.txt", CONTENT)
    fetch(remote(server), tmp_path).unlink()
    server.serve("a.txt", b"new\n")
    refused(remote(server), tmp_path, r"If the new one is right, delete .*a\.txt\.first")
    (tmp_path / "a.txt.first").unlink()
    assert fetch(remote(server), tmp_path).read_bytes() == b"new\n"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"url": 1}', "null"])
def test_a_damaged_record_is_written_anew(text: str, server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.txt.first").write_text(text, encoding="utf-8")
    server.serve("a.txt", CONTENT)
    fetch(remote(server), tmp_path)
    assert SHA256 in (tmp_path / "a.txt.first").read_text(encoding="utf-8")


def test_another_address_has_a_record_of_its_own(server: Server, tmp_path: Path) -> None:
    server.serve("old.txt", b"old\n")
    fetch(Remote("a.txt", server.url("old.txt")), tmp_path).unlink()
    server.serve("a.txt", CONTENT)
    assert fetch(remote(server), tmp_path).read_bytes() == CONTENT


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_an_archive_is_verified_by_its_members(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The digest is that of the matching members' bytes in the order of their names."""
    both = hashlib.sha256(b"one\ntwo\n").hexdigest()
    members = {"**/*.txt": (both, 8)}
    files = {"in/b.txt": b"two\n", "in/a.txt": b"one\n", "readme.md": b"x"}
    server.serve("a.zip", zipped(files))
    folder = fetch(remote(server, "a.zip", members=members), tmp_path)
    assert (folder / "in" / "b.txt").read_bytes() == b"two\n"
    assert caplog.records == []


@pytest.mark.parametrize(
    "files",
    [{"in/a.txt": b"one\n", "in/b.txt": b"TWO\n"}, {"in/a.txt": b"one\n"}, {"readme.md": b"x"}],
    ids=["changed", "missing", "none"],
)
def test_an_archive_of_other_members_is_refused(
    files: dict[str, bytes], server: Server, tmp_path: Path
) -> None:
    members = {"**/*.txt": (hashlib.sha256(b"one\ntwo\n").hexdigest(), 8)}
    server.serve("a.zip", zipped(files))
    refused(remote(server, "a.zip", members=members), tmp_path, "its members .*expected 8 and")
