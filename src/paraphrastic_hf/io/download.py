"""Verified downloads of corpora, shared by all processes.

Files are verified by a known SHA-256, of the file or of the members of an archive. If none is
known, the SHA-256 of the first download is stored, and later downloads from the same URL must match
it.
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
TRIES = 4  # per request, while the server fails
STARTS = {  # first bytes of packed files
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
        path: Path in the corpus folder. `{config}` stands for the configuration's name, `{first}`
            and `{second}` for the languages of a pair. An archive is unpacked next to this path.
        url: URL, with the same placeholders as `path`.
        sha256: SHA-256 in hexadecimal, if known.
        size: Size in bytes, if known.
        members: Checksums of the members of an archive, by glob pattern, if the archive has no
            known checksum. Each is the SHA-256 and size of all matching members, concatenated in
            the order of their paths.
    """

    path: str
    url: str
    sha256: str | None = None
    size: int | None = None
    members: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether the SHA-256 of the file or of its members is known."""
        return self.sha256 is not None or bool(self.members)

    def filled(self, config: str) -> Remote:
        first, _, second = config.partition("-")
        names = {"config": config, "first": first, "second": second}
        return replace(self, path=self.path.format(**names), url=self.url.format(**names))


def cache_folder() -> Path:
    """Return PARAPHRASTIC_CACHE, or `paraphrastic_hf` in HF_HOME, for downloads and copies."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(home) / "paraphrastic_hf"


def fetch(remote: Remote, folder: Path) -> Path:
    """Download a file if it is missing. Return its path, or the folder of an unpacked archive."""
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
            target.unlink()  # the next call downloads it again
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
            raise  # a disk error
        raise DataError(f"Cannot download {url}: {in_a_line(error)}") from error


def with_retries(request: Callable[[], T]) -> T:
    """Make a huggingface_hub request. Repeat it up to three times if the server fails (5xx)."""
    for attempt in range(TRIES - 1):
        try:
            return request()
        except OSError as error:
            if status_of(error) < 500:
                raise
            logger.info("%s. Retrying", in_a_line(error))
            time.sleep(2**attempt)
    return request()


def status_of(error: BaseException | None) -> int:
    """Return the HTTP status of an error or of its causes, or 0."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status:
            return int(status)
        error = error.__cause__
    return 0


def _check(remote: Remote, path: Path, target: Path) -> None:
    digest, first = content_hash(path), _first_sha256(remote, target)
    if digest in (remote.sha256, first):
        return
    with path.open("rb") as file:
        head = file.read(80)
    start = next((start for end, start in STARTS.items() if target.name.endswith(end)), b"")
    is_page = head.lstrip().lower().startswith((b"<!doctype html", b"<html"))
    if not head or is_page or not head.startswith(start):
        raise DataError(
            f"{remote.url} did not return {target.name} but content that starts with {head!r}. "
            "Open the URL in a browser: it may require a login or no longer exist"
        )
    if remote.sha256 or first:
        remedy = f". If the new file is correct, delete {_first(target)}" if first else ""
        raise DataError(
            f"{remote.url} has SHA-256 {digest}, expected {remote.sha256 or first}{remedy}"
        )


def _opened(remote: Remote, target: Path) -> Path:
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
                f"{remote.url}: members {pattern} have {found[1]:,} bytes and SHA-256 {found[0]}, "
                f"expected {known[1]:,} and {known[0]}"
            )
    return folder


def _digest_of_members(folder: Path, pattern: str) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    paths = (path for path in folder.glob(pattern) if path.is_file())
    for path in sorted(paths, key=lambda path: path.relative_to(folder).as_posix()):
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
        size += path.stat().st_size
    return digest.hexdigest(), size


def _first(target: Path) -> Path:
    return target.with_name(target.name + ".first")


def _first_sha256(remote: Remote, target: Path) -> str | None:
    """Return the SHA-256 stored at the first download, for a file without a known SHA-256."""
    if remote.is_known or not _first(target).exists():
        return None
    first = read_json(_first(target))
    return first["sha256"] if first["url"] == remote.url else None


def _write_down(remote: Remote, target: Path) -> None:
    digest, date = content_hash(target), datetime.now(UTC).date().isoformat()
    write_json(_first(target), {"url": remote.url, "sha256": digest, "date": date})
    logger.warning(
        "%s is unverified: its checksum is not known. Later downloads must match its SHA-256, %s, "
        "stored in %s",
        remote.url,
        digest,
        _first(target),
    )


# Training records, and copies for other frameworks.
IGNORED = [
    *("checkpoints/*", "logs/*", "work/*"),
    *("*.h5", "*.msgpack", "*.ot", "*.tflite", "*.onnx", "onnx/*", "openvino/*", "model2vec/*"),
]


def snapshot(name: str, kind: str = "model", **options: Any) -> Path:
    """Return the folder of a Hub repository at one commit, downloading it if needed. Takes options
    of huggingface_hub's `snapshot_download`.
    """
    from huggingface_hub import snapshot_download

    return Path(
        with_retries(
            lambda: snapshot_download(name, repo_type=kind, ignore_patterns=IGNORED, **options)
        )
    )
