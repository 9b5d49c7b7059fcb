"""One address to one file: asked again where that may help, gone on with where it broke off, and
refused where what came is not the file.

A download grows under the name `.part` beside its place and is renamed when it is whole. One that
broke off goes on where it stopped if the server still has the same file (`Range` with `If-Range`);
the last bytes that are there are asked for again and compared, since not every server changes its
`ETag` with the file. No other module opens a URL. Archives are unpacked in `download.py`.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import content_hash

BLOCK = 1 << 20
OVERLAP = 1 << 16  # bytes that are asked for again when a download goes on
TRIES = 4
TIMEOUT_SECONDS = 60  # for the head of an answer, for a byte, and to measure the rate over
SLOWEST = 1024  # bytes a second; what comes more slowly over a whole window has stalled
LONGEST_WAIT = 120  # seconds that a server may ask to wait (`Retry-After`)
BUSY = (408, 425, 429)  # answers that a later request may not get
BROKEN = (
    urllib.error.URLError,
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
    ssl.SSLError,
)
PAGE = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*"
    rb"<(!doctype\s+html|html|head|body|script|title|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
PACKED = {
    ".zip": b"PK",
    ".gz": b"\x1f\x8b",
    ".tgz": b"\x1f\x8b",
    ".xz": b"\xfd7zXZ\0",
    ".bz2": b"BZh",
}


class RefusedError(DataError):
    """What came is not the file that was asked for; nothing of it is kept."""


class Pace:
    """Check that a download does not stall for longer than `TIMEOUT_SECONDS`."""

    def __init__(self) -> None:
        self.since, self.came = time.monotonic(), 0

    def add(self, count: int) -> None:
        """Count bytes.

        Raises:
            TimeoutError: Over a whole window, fewer than `SLOWEST` came a second.
        """
        self.came += count
        passed = time.monotonic() - self.since
        if passed >= TIMEOUT_SECONDS:
            if self.came < SLOWEST * passed:
                raise TimeoutError(f"stalled: {self.came:,} bytes came in {passed:,.0f} seconds")
            self.since, self.came = time.monotonic(), 0


def receive(url: str, target: Path, *, sha256: str | None = None, size: int | None = None) -> str:
    """Download a file to its place.

    Args:
        url: Its address.
        target: Its place, in a folder that exists.
        sha256: Its checksum in hexadecimal, or None if it is not known.
        size: How many bytes it has, or None if that is not known.

    Returns:
        The SHA-256 of what came, in hexadecimal.

    Raises:
        DataError: The server cannot be reached, has no such file, stalls, or sends something else:
            another number of bytes, another checksum, a web page, nothing, or a broken archive.
    """
    part = target.with_name(target.name + ".part")
    try:
        kind = _receive_with_patience(url, part, size)
        digest = _checked(url, part, target.name, kind, sha256, size)
    except RefusedError:
        _drop(part)
        raise
    os.replace(part, target)
    _state(part).unlink(missing_ok=True)
    return digest


def _receive_with_patience(url: str, part: Path, size: int | None) -> str:
    """Ask until the file is whole, at most `TRIES` times; return its `Content-Type`."""
    for attempt in range(1, TRIES + 1):
        wait = 0.5 * 2**attempt
        try:
            return _append(url, part, size)
        except urllib.error.HTTPError as error:
            error.close()
            asked = asked_to_wait(error.headers.get("Retry-After"))
            wait = max(wait, asked)
            is_over = error.code < 500 and error.code not in BUSY
            if is_over or attempt == TRIES or asked > LONGEST_WAIT:
                later = (
                    f"; the server asks to wait {counted(round(asked), 'second')}" if asked else ""
                )
                raise DataError(
                    f"{url} cannot be downloaded: {error.code} {error.reason}{later}"
                ) from error
        except BROKEN as error:
            if attempt == TRIES:
                had = f"; {part} holds what came, run it again to go on" if part.exists() else ""
                reason = getattr(error, "reason", None) or error
                raise DataError(f"{url} cannot be downloaded: {reason}{had}") from error
        time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def asked_to_wait(value: str | None) -> float:
    """Seconds that a `Retry-After` names, as a number or as a date; 0 if it names none."""
    text = (value or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _append(url: str, part: Path, size: int | None) -> str:
    """Append to `part` what it lacks; begin again if the server's file is no longer the same."""
    request = urllib.request.Request(url, headers={"User-Agent": "paraphrastic_hf"})
    state = _read_state(part, url)
    have = part.stat().st_size if part.exists() and state else 0
    start = max(0, have - OVERLAP)
    if start:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", state["validator"])
    try:
        response = _open(request)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        error.close()
        _drop(part)  # it is longer than the server's file
        raise urllib.error.URLError(error.reason) from error
    with response:
        if response.status not in (200, 206):
            raise RefusedError(
                f"{url} cannot be downloaded: the server answered {response.status} "
                f"{response.reason}, without a file"
            )
        if url.startswith("https:") and not response.url.startswith("https:"):
            raise RefusedError(
                f"{url} leads to {response.url}, which is not encrypted; it was not followed"
            )
        coding = response.headers.get("Content-Encoding", "identity").lower()
        if coding != "identity" and not part.name.removesuffix(".part").endswith(tuple(PACKED)):
            raise RefusedError(f"{url} cannot be downloaded: it comes encoded as {coding[:40]!r}")
        mark = response.headers.get("ETag") or response.headers.get("Last-Modified")
        length = _length(url, response.headers.get("Content-Length"))
        goes_on = response.status == 206
        if goes_on:
            total = _whole(url, response.headers.get("Content-Range"), start)
            is_same = mark in (None, state.get("validator")) and state.get("total", total) == total
            if not is_same or (total is not None and have > total):
                _drop(part)
                raise ConnectionError("the server sent a part of another file")
        else:
            _drop(part)
            start, total = 0, length
        if size is not None and total not in (None, size):
            kind = str(response.headers.get("Content-Type"))[:60]
            raise RefusedError(
                f"{url} has {total:,} bytes of type {kind!r}, expected {size:,}; it was not fetched"
            )
        if not goes_on and mark and not mark.startswith("W/"):
            found = {"url": url, "validator": mark, **({} if total is None else {"total": total})}
            _state(part).write_text(json.dumps(found), encoding="utf-8")
        _copy(response, url, part, start, size if total is None else total)
        came = part.stat().st_size
        if total is not None and came != total:
            raise ConnectionError(f"{came:,} of {total:,} bytes came")
        return str(response.headers.get("Content-Type") or "")


def _open(request: urllib.request.Request) -> Any:
    handlers = (_PromptHTTP, _PromptHTTPS)
    return urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT_SECONDS)


class _Prompt:
    """A connection that is cut if the head of an answer takes too long, however it trickles."""

    sock: socket.socket | None
    is_cut = False

    def getresponse(self) -> Any:
        timer = threading.Timer(TIMEOUT_SECONDS, self._cut)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()  # type: ignore[misc]
        finally:
            timer.cancel()
        if self.is_cut:  # which looks like the end of the head
            response.close()
            raise TimeoutError(f"the head of the answer took over {TIMEOUT_SECONDS} seconds")
        return response

    def _cut(self) -> None:
        self.is_cut = True
        try:
            if self.sock is not None:
                self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is closed already
            pass


def _prompt(connection: Any) -> Any:
    return type("Prompt", (_Prompt, connection), {})


class _PromptHTTP(urllib.request.HTTPHandler):
    def do_open(self, http_class: Any, *arguments: Any, **options: Any) -> Any:
        return super().do_open(_prompt(http_class), *arguments, **options)


class _PromptHTTPS(urllib.request.HTTPSHandler):
    def do_open(self, http_class: Any, *arguments: Any, **options: Any) -> Any:
        return super().do_open(_prompt(http_class), *arguments, **options)


def _length(url: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise RefusedError(f"{url} cannot be downloaded: its Content-Length is {text[:40]!r}")
    return int(text)


def _whole(url: str, text: str | None, start: int) -> int | None:
    """How long the file is of which a part comes, which must begin where it was asked to."""
    found = re.fullmatch(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)", (text or "").strip())
    if not start or found is None or int(found[1]) != start:
        asked = f"the bytes from {start:,} on" if start else "the whole file"
        raise RefusedError(
            f"{url} cannot be downloaded: asked for {asked}, the server sent a part "
            f"({(text or 'which it does not say')[:40]!r})"
        )
    return None if found[2] == "*" else int(found[2])


def _copy(
    response: http.client.HTTPResponse, url: str, part: Path, start: int, most: int | None
) -> None:
    """Write what comes from `start` on; what is there already must come again as it was."""
    here = start
    pace = Pace()
    with (
        part.open("r+b" if part.exists() else "w+b") as output,
        tqdm(
            desc=url.rsplit("/", 1)[-1],
            initial=start,
            total=most,
            unit="B",
            unit_scale=True,
            leave=False,
        ) as bar,
    ):
        output.seek(start)
        while block := response.read1(BLOCK):
            had = output.read(len(block))
            if had != block[: len(had)]:
                raise RefusedError(
                    f"{url} changed while it was downloaded, though the server gives it the same "
                    "ETag or date; what had come was dropped, run it again for the new file"
                )
            output.write(block[len(had) :])
            here += len(block)
            if most is not None and here > most:
                raise RefusedError(f"{url} sends more than the {most:,} bytes it should have")
            bar.update(len(block))
            pace.add(len(block))


def _checked(
    url: str, part: Path, name: str, kind: str, sha256: str | None, size: int | None
) -> str:
    """The checksum of what came, which must be the file that was asked for."""
    came = part.stat().st_size
    digest = content_hash(part)
    if digest == sha256:
        return digest
    with part.open("rb") as file:
        head = file.read(4096)
    packing = next((packing for packing in PACKED if name.endswith(packing)), None)
    is_packed = packing is not None and head.startswith(PACKED[packing])
    if PAGE.match(head) or ("html" in kind.lower() and not is_packed):
        raise RefusedError(
            f"{url} gave a web page where {name} was expected: the server asks to log in, or the "
            "file is gone; open the address in a browser. It was not kept"
        )
    if came == 0 and size != 0:
        raise RefusedError(f"{url} gave an empty file where {name} was expected")
    if size not in (None, came):
        raise RefusedError(f"{url} gave {came:,} bytes, expected {size:,}; they were not kept")
    if sha256 is not None:
        raise RefusedError(
            f"{url} has the checksum {digest}, expected {sha256}: the file on the server is "
            "another or was changed on the way; it was not kept"
        )
    if packing is not None and not is_packed:
        raise RefusedError(f"{url} gave something that is no {packing} file; it was not kept")
    if packing == ".gz" and not name.endswith(".tar.gz"):  # archives are tried by unpacking them
        _try_gzip(url, part)
    return digest


def _try_gzip(url: str, part: Path) -> None:
    """Read a packed file to the checksum at its end."""
    try:
        with gzip.open(part) as file:
            while file.read(BLOCK):
                pass
    except (OSError, EOFError, zlib.error) as error:
        if getattr(error, "errno", None) is not None:
            raise  # the disk
        raise RefusedError(f"{url} gave a damaged .gz file: {error}; it was not kept") from error


def _drop(part: Path) -> None:
    part.unlink(missing_ok=True)
    _state(part).unlink(missing_ok=True)


def _state(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_state(part: Path, url: str) -> dict[str, Any]:
    """The server's name and length of the version that `part` begins; empty if unknown."""
    try:
        state = json.loads(_state(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_whole = isinstance(state, dict) and isinstance(state.get("validator"), str)
    return state if is_whole and state.get("url") == url else {}
