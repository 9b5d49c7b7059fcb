"""Fetch a file, verify it and remember it; `archives.py` unpacks it.

What is on record is verified: the SHA-256 and size of a file, or, of an archive whose own are not
known, those of its members. Any other file is written down beside its place when it first comes,
and other bytes under the same address are refused from then on. How the bytes come is in
`receive.py`.

This is our own code because pooch 1.9.0 does not do what large corpora need: it starts a broken
download anew, and has no lock between processes. `http_get` of huggingface_hub goes on without
`If-Range`, and so appends to the beginning of another file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.archives import is_archive, unpack
from paraphrastic_hf.io.files import remove, write_json
from paraphrastic_hf.io.receive import receive

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "PARAPHRASTIC_CACHE"
BLOCK = 1 << 20


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
        remote: The file and its address.
        folder: The corpus's folder, under which its `path` is looked up.

    Returns:
        The file, or the folder beside it that holds the archive's members.

    Raises:
        DataError: The server cannot be reached, has no such file, or sends another than the one on
            record or than it did the first time; the archive is damaged.
    """
    target = folder / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(target) + ".lock"):
        if target.exists():
            _check_size(remote, target)
            try:
                return _opened(remote, target)
            except DataError as error:
                raise DataError(f"{error}; delete {target} to download it again") from error
        digest = receive(remote.url, target, sha256=remote.sha256, size=remote.size)
        try:
            is_new = not remote.is_known and not _is_as_before(remote, target, digest)
            place = _opened(remote, target)
        except DataError:
            target.unlink()  # what is of no use is not met again
            raise
        if is_new:
            _write_down(remote, target, digest)
    return place


def _check_size(remote: Remote, target: Path) -> None:
    size = target.stat().st_size
    if remote.size not in (None, size):
        raise DataError(
            f"{target} has {size:,} bytes, expected {remote.size:,}; delete it to download it again"
        )


def _opened(remote: Remote, target: Path) -> Path:
    """The file, or the folder of the archive's members, which are those on record."""
    if not is_archive(target):
        return target
    folder = target.with_name(target.name + ".unpacked")
    is_new = not folder.is_dir()
    unpack(target, folder)
    if is_new:
        for pattern, (sha256, size) in remote.members.items():
            found = _digest_of_members(folder, pattern)
            if found != (sha256, size):
                remove(folder)
                raise DataError(
                    f"{remote.url}: its members {pattern} have {found[1]:,} bytes and the checksum "
                    f"{found[0]}, expected {size:,} and {sha256}; the archive was not kept"
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


def _is_as_before(remote: Remote, target: Path, digest: str) -> bool:
    """Whether the address gave these bytes the first time too; others than then are refused."""
    try:
        first = json.loads(_first(target).read_text(encoding="utf-8"))
        url, before, date = first["url"], first["sha256"], first["date"]
    except (OSError, ValueError, TypeError, KeyError):
        return False
    if url != remote.url:
        return False
    if before != digest:
        raise DataError(
            f"{remote.url} gave a file of the checksum {before} on {date} and now gives one of "
            f"{digest}; it was not kept. If the new one is right, delete {_first(target)}"
        )
    return True


def _write_down(remote: Remote, target: Path, digest: str) -> None:
    size = target.stat().st_size
    date = datetime.now(UTC).date().isoformat()
    write_json(_first(target), {"url": remote.url, "sha256": digest, "size": size, "date": date})
    logger.warning(
        "%s is unverified: no checksum of it is on record. It has %s bytes and the SHA-256 %s, "
        "which %s keeps to compare later downloads with",
        remote.url,
        f"{size:,}",
        digest,
        _first(target),
    )
