"""Download the official files of corpora: verified, whole, and once for all processes.

Files on record are verified by their SHA-256, or by that of an archive's members. The SHA-256 of
any other file is written beside it at the first download, and other bytes under the same address
are refused from then on.

`http_get` of huggingface_hub, which is installed anyway, waits for slow servers, shows a progress
bar and goes on after a broken connection. pooch 1.9 would be another dependency, starts a broken
download anew, has no lock between processes, and unpacks a tar without a filter.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from paraphrastic_hf.errors import DataError, in_a_line
from paraphrastic_hf.io.archives import is_archive, unpack
from paraphrastic_hf.io.files import content_hash, read_json, remove, replacing, write_json

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "PARAPHRASTIC_CACHE"
BLOCK = 1 << 20
TRIES = 4  # of a request that the server fails to answer
STARTS = {  # of packed files
    ".zip": b"PK",
    ".gz": b"\x1f\x8b",
    ".tgz": b"\x1f\x8b",
    ".xz": b"\xfd7zXZ\0",
    ".bz2": b"BZh",
}
T = TypeVar("T")


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
        members: Of an archive whose own checksum is not known, what of its members is: for a
            pattern of places in it, the checksum and number of all bytes of the members that match,
            one after another in the order of their places.
    """

    path: str
    url: str
    sha256: str | None = None
    size: int | None = None
    members: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether other bytes than the official ones would be noticed."""
        return self.sha256 is not None or bool(self.members)

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
        folder: The corpus's folder, under which its `path` is looked up.

    Returns:
        The file, or the folder beside it that holds the archive's members.
    """
    target = folder / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(target) + ".lock"):
        is_whole = target.exists() and remote.size in (None, target.stat().st_size)
        if not is_whole:
            with replacing(target) as partial:
                _download(remote.url, partial, target.name)
                _check(remote, partial, target)
        try:
            place = _opened(remote, target)
        except DataError:
            target.unlink()  # to be downloaded again by the next call
            raise
        if not is_whole and not remote.is_known and _first_sha256(remote, target) is None:
            _write_down(remote, target)
    return place


def _download(url: str, path: Path, name: str) -> None:
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    headers = {"User-Agent": "paraphrastic_hf", "Accept-Encoding": "identity"}
    try:
        with path.open("wb") as file:
            with_retries(
                lambda: http_get(
                    url, file, resume_size=file.tell(), headers=headers, displayed_filename=name
                )
            )
    except (httpx.HTTPError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # the disk's
        raise DataError(f"cannot download {url}: {in_a_line(error)}") from error


def with_retries(request: Callable[[], T]) -> T:
    """Make a request by huggingface_hub again, up to four times, while the server fails (5xx)."""
    for attempt in range(TRIES - 1):
        try:
            return request()
        except OSError as error:
            causes = (error, error.__cause__)
            statuses = [getattr(getattr(it, "response", None), "status_code", 0) for it in causes]
            if max(statuses) < 500:
                raise
            logger.info("%s; asking again", in_a_line(error))
            time.sleep(2**attempt)
    return request()


def _check(remote: Remote, path: Path, target: Path) -> None:
    """Refuse what came if it is not the file that was asked for."""
    digest, first = content_hash(path), _first_sha256(remote, target)
    if digest in (remote.sha256, first):
        return
    with path.open("rb") as file:
        head = file.read(80)
    start = next((start for end, start in STARTS.items() if target.name.endswith(end)), b"")
    is_page = head.lstrip().lower().startswith((b"<!doctype html", b"<html"))
    if not head or is_page or not head.startswith(start):
        raise DataError(
            f"{remote.url} gave something other than {target.name}, which begins {head!r}; open "
            "the address in a browser: it may ask to log in, or the file is gone"
        )
    if remote.sha256 or first:
        remedy = f"; if the new file is right, delete {_first(target)}" if first else ""
        raise DataError(
            f"{remote.url} has the SHA-256 {digest}, expected {remote.sha256 or first}{remedy}"
        )


def _opened(remote: Remote, target: Path) -> Path:
    """The file, or the folder of the archive's members, which are those on record."""
    if not is_archive(target):
        return target
    folder = target.with_name(target.name + ".unpacked")
    is_new = not folder.is_dir()
    unpack(target, folder)
    for pattern, known in remote.members.items() if is_new else ():
        found = _digest_of_members(folder, pattern)
        if found != known:
            remove(folder)
            raise DataError(
                f"{remote.url}: its members {pattern} have {found[1]:,} bytes and the SHA-256 "
                f"{found[0]}, expected {known[1]:,} and {known[0]}"
            )
    return folder


def _digest_of_members(folder: Path, pattern: str) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    paths = (path for path in folder.glob(pattern) if path.is_file())
    for path in sorted(paths, key=lambda path: path.relative_to(folder).as_posix()):
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
    return digest.hexdigest(), size


def _first(target: Path) -> Path:
    return target.with_name(target.name + ".first")


def _first_sha256(remote: Remote, target: Path) -> str | None:
    """The SHA-256 of an unverified file when it was first downloaded."""
    if remote.is_known or not _first(target).exists():
        return None
    first = read_json(_first(target))
    return first["sha256"] if first["url"] == remote.url else None


def _write_down(remote: Remote, target: Path) -> None:
    digest, date = content_hash(target), datetime.now(UTC).date().isoformat()
    write_json(_first(target), {"url": remote.url, "sha256": digest, "date": date})
    logger.warning(
        "%s is unverified: no checksum of it is on record. Later downloads are compared with its "
        "SHA-256, %s, in %s",
        remote.url,
        digest,
        _first(target),
    )


# What a run leaves beside a model, and weights that only other frameworks read.
IGNORED = [
    *("checkpoints/*", "logs/*", "work/*"),
    *("*.h5", "*.msgpack", "*.ot", "*.tflite", "*.onnx", "onnx/*", "openvino/*"),
]


def snapshot(name: str, kind: str = "model", **options: Any) -> Path:
    """Return the folder of a repository at one commit, downloaded if need be.

    Args:
        name: Such as `someone/model`.
        kind: `model`, `dataset` or `space`.
        **options: `revision`, `token`, `cache_dir` and `local_files_only`, as `snapshot_download`
            of huggingface_hub takes them.
    """
    from huggingface_hub import snapshot_download

    return Path(
        with_retries(
            lambda: snapshot_download(name, repo_type=kind, ignore_patterns=IGNORED, **options)
        )
    )
