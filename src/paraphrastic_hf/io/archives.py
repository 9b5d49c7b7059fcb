"""Unpack an archive safely, once and whole.

Members are read one by one. None can land outside the folder made for it, none is a link or a
device, and together they may have only so many times the archive's bytes, so that a small file
cannot fill a disk.

This is our own code because pooch 1.9.0, on Python 3.11, unpacks a tar without a filter, so that a
member `../../outside.txt` was written outside. In the place of `_extract` it failed 55 of the 97
tests of archives that there were then, 33 of them because a hostile or damaged archive was taken
without an error.
"""

from __future__ import annotations

import errno
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Any

from filelock import FileLock

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import replacing

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
BLOCK = 1 << 20
MOST_TIMES = 100  # what is unpacked may be so many times the archive; text is packed to a tenth
ALWAYS_ALLOWED = 64 << 20  # bytes, which no archive is too small for
HEADER = 512  # bytes of a tar's header, which a member counts beside its content
DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    UnicodeDecodeError,  # in a name
    RuntimeError,  # encrypted, or packed in an unknown way
)
# A file where a folder should be, or the other way round; and what a broken tar seeks to.
NOT_THE_DISK = (None, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)


def is_archive(path: str | Path) -> bool:
    """Whether a file has the name of an archive that this module can unpack."""
    return str(path).endswith(ARCHIVES)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive into a folder of its own; if the folder is there, nothing is done.

    Raises:
        DataError: The archive is damaged, it holds a link, a device or a member whose name leads
            out of the folder, or its members have more than 100 times its bytes.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder) + ".lock"):
        if not folder.is_dir():
            with replacing(folder) as part:
                part.mkdir()
                _extract(archive, part)
    return folder


def _extract(archive: Path, folder: Path) -> None:
    try:
        for name, content in _members(archive):
            with content:
                place = folder / _safe(name, archive)
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("wb") as output:
                    shutil.copyfileobj(content, output, BLOCK)
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno not in NOT_THE_DISK:
            raise  # a full disk is not a damaged archive
        raise DataError(f"{archive} is a damaged archive: {error}") from error


def _members(archive: Path) -> Iterator[tuple[str, IO[Any]]]:
    """The names and contents of an archive's plain files, in its order. A content never has more
    bytes than the archive's record of it says."""
    bound = _Bound(archive)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():  # all of them, before anything is written
                bound.add(info.file_size)
            for info in packed.infolist():
                mode = info.external_attr >> 16
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise DataError(f"{archive} holds {info.filename!r}, which is no plain file")
                if not info.is_dir():
                    yield info.filename, packed.open(info)
    else:
        with tarfile.open(archive, "r:*") as packed_tar:
            for member in packed_tar:
                if not (member.isfile() or member.isdir()):
                    raise DataError(f"{archive} holds {member.name!r}, which is no plain file")
                bound.add(member.size)
                content = packed_tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name, content
            while block := packed_tar.fileobj.read(BLOCK):  # to the checksum at the end
                bound.add(len(block))


class _Bound:
    """How many bytes an archive may become, and how many it has."""

    def __init__(self, archive: Path) -> None:
        self._archive, self._bytes = archive, archive.stat().st_size
        self._left = max(ALWAYS_ALLOWED, MOST_TIMES * self._bytes)

    def add(self, size: int) -> None:
        """Count a member, or refuse the archive."""
        self._left -= size + HEADER
        if self._left < 0:
            raise DataError(
                f"{self._archive}, of {self._bytes:,} bytes, would unpack to more than "
                f"{MOST_TIMES} times as many, which no corpus does; refused. If you trust it, "
                "unpack it yourself and give the folder"
            )


def _safe(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    drive = path.parts and ":" in path.parts[0]
    if path.is_absolute() or drive or ".." in path.parts or not path.parts or "\0" in name:
        raise DataError(f"{archive} holds {name!r}, which would lie outside its folder; refused")
    return path
