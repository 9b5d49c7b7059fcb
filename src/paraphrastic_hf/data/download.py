"""Fetch a file and verify it; no other module opens a URL. Archives are unpacked in `archives.py`.

A download grows under the name `.part` beside its place and is renamed when it is whole. One that
broke off goes on where it stopped if the server still has the same file (`Range` with `If-Range`).

This is our own code because pooch 1.9.0 does not do what large corpora need. It starts a broken
download anew and has no lock between processes. In the place of `_download` it failed 7 of the 36
tests of downloads, five of them on going on.
`http_get` of huggingface_hub, which goes on but without `If-Range`, failed 14 of the 36. It appends
to the beginning of another file, and 134 of the 470 files that the corpora list, the largest among
them, have no checksum that would tell. Either would have saved about 100 lines.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock
from tqdm.auto import tqdm

from paraphrastic_hf.data.archives import is_archive, unpack
from paraphrastic_hf.errors import DataError

CACHE_VARIABLE = "PARAPHRASTIC_CACHE"
BLOCK = 1 << 20
TRIES = 4
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Remote:
    """A file on a server.

    Attributes:
        path: Where it goes in the corpus's folder. `{config}` in it stands for the name of the
            configuration; where that is a pair of languages, `{first}` and `{second}` stand for
            the two. An archive is unpacked beside this path.
        url: Its address, in which the same names in braces may stand.
        sha256: Its checksum in hexadecimal, or None if it is not known.
        size: How many bytes it has, or None if that is not known.
    """

    path: str
    url: str
    sha256: str | None = None
    size: int | None = None

    def filled(self, config: str) -> Remote:
        """The file of one configuration, with its name in place of what stands in braces."""
        first, _, second = config.partition("-")
        names = {"config": config, "first": first, "second": second}
        return replace(self, path=self.path.format(**names), url=self.url.format(**names))


def cache_folder() -> Path:
    """Where downloads and unpacked archives lie.

    That is the folder in the variable `PARAPHRASTIC_CACHE`, or else `paraphrastic_hf` in the home
    folder of the Hub (`HF_HOME`).
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(home) / "paraphrastic_hf"


def fetch(remote: Remote, folder: Path) -> Path:
    """Download a file unless it is there already, and unpack it if it is an archive.

    Args:
        remote: The file and its address.
        folder: The corpus's folder, under which its `path` is looked up.

    Returns:
        The file, or the folder beside it that holds the archive's members.

    Raises:
        DataError: The server cannot be reached, has no such file, or sends one of another checksum;
            the archive is damaged.
    """
    target = folder / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(target) + ".lock"):
        if not target.exists():
            _download(remote, target)
        if is_archive(target):
            return unpack(target, target.with_name(target.name + ".unpacked"))
    return target


def _download(remote: Remote, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    for attempt in range(1, TRIES + 1):
        try:
            _receive(remote.url, part)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or attempt == TRIES:
                raise DataError(
                    f"{remote.url} cannot be downloaded: {error.code} {error.reason}"
                ) from error
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            ConnectionError,
            TimeoutError,
            ssl.SSLError,
        ) as e:
            if attempt == TRIES:
                had = f"; {part} holds what came, run it again to go on" if part.exists() else ""
                reason = getattr(e, "reason", None) or e
                raise DataError(f"{remote.url} cannot be downloaded: {reason}{had}") from e
        time.sleep(0.5 * 2**attempt)
    digest = sha256_of(part)
    if remote.sha256 is not None and digest != remote.sha256:
        part.unlink()
        _state(part).unlink(missing_ok=True)
        raise DataError(
            f"{remote.url} has the checksum {digest}, expected {remote.sha256}: the file on the "
            "server is another or was changed on the way; it was not kept"
        )
    os.replace(part, target)
    _state(part).unlink(missing_ok=True)


def _receive(url: str, part: Path) -> None:
    """Append to `part` what it lacks; begin again if the server's file is no longer the same."""
    request = urllib.request.Request(url, headers={"User-Agent": "paraphrastic_hf"})
    validator = _validator(part, url)
    have = part.stat().st_size if part.exists() else 0
    if have and validator:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", validator)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        is_whole = error.headers.get("Content-Range") == f"bytes */{have}"
        error.close()
        if have and is_whole:  # only the renaming was missing
            return
        part.unlink(missing_ok=True)
        raise urllib.error.URLError(error.reason) from error
    with response:
        goes_on = response.status == 206
        mark = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if goes_on:
            begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if not begins or mark not in (None, validator):
                part.unlink(missing_ok=True)
                raise ConnectionError("the server sent a part of another file")
        else:
            part.write_bytes(b"")
            _state(part).unlink(missing_ok=True)
            if mark and not mark.startswith("W/"):
                state = {"url": url, "validator": mark}
                _state(part).write_text(json.dumps(state), encoding="utf-8")
        start = have if goes_on else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with (
            part.open("ab") as output,
            tqdm(
                desc=url.rsplit("/", 1)[-1],
                initial=start,
                total=total,
                unit="B",
                unit_scale=True,
                leave=False,
            ) as bar,
        ):
            while block := response.read(BLOCK):
                output.write(block)
                bar.update(len(block))
        if total is not None and part.stat().st_size != total:
            raise ConnectionError(f"{part.stat().st_size:,} of {total:,} bytes came")


def _state(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _validator(part: Path, url: str) -> str | None:
    """The server's name for the version of the file that `part` begins, or None if unknown."""
    try:
        state = json.loads(_state(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state.get("validator") if isinstance(state, dict) and state.get("url") == url else None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
