import tarfile
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path

from filelock import FileLock

from paraphrastic_hf.errors import DataError, disk_error
from paraphrastic_hf.io.files import replacing

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    UnicodeDecodeError,  # in a member's name
    RuntimeError,  # encrypted, or an unknown compression method
)


def is_archive(path: str | Path) -> bool:
    """Return whether a file name ends like an archive that `unpack` supports."""
    return str(path).endswith(ARCHIVES)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive into a folder, unless the folder exists."""
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
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                for name in packed.namelist():  # extractall would silently rename these
                    if not (folder / name).resolve().is_relative_to(folder.resolve()):
                        raise DataError(f"{archive} contains {name!r}, a path outside its folder")
                packed.extractall(folder)
        else:
            with tarfile.open(archive) as packed_tar:
                packed_tar.extractall(folder, filter=_plain)
                while packed_tar.fileobj.read(1 << 20):  # type: ignore[union-attr]
                    pass  # read to the end to verify the checksum
    except DAMAGED as error:
        if disk_error(error, folder):
            raise
        raise DataError(f"Cannot unpack {archive}: {error}") from error


def _plain(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Apply tarfile's `data` filter, but refuse links (CVE-2025-4517, before Python 3.11.13)."""
    if not (member.isfile() or member.isdir()):
        raise tarfile.SpecialFileError(member)
    return tarfile.data_filter(member, folder)
