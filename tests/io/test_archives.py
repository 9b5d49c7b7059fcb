"""Archives are unpacked once and whole, and no member lands outside the folder made for it."""

from __future__ import annotations

import gc
import gzip
import io
import random
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io import archives
from paraphrastic_hf.io.archives import unpack
from paraphrastic_hf.io.download import Remote, fetch
from tests.io.serving import serving

MEMBERS = {"a.txt": b"one\n", "deep/er/b.txt": b"two\n" * 5000, "deep/empty": b""}
NAMES = ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "a.tar.bz2"]
NOISE = random.Random(0)
TAR_MODES = {".gz": "w:gz", ".tgz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2", ".tar": "w"}


def pack(path: Path, members: dict[str, bytes]) -> Path:
    """An archive of the kind its name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
        return path
    with tarfile.open(path, TAR_MODES[path.suffix]) as packed_tar:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed_tar.addfile(info, io.BytesIO(content))
    return path


def pack_special(path: Path, kind: bytes, target: str = "../../outside.txt") -> Path:
    """A tar of a good member, a link or device `bad`, and a member that would go through it."""
    with tarfile.open(path, "w:gz") as packed:
        info = tarfile.TarInfo("good.txt")
        packed.addfile(info)
        info = tarfile.TarInfo("bad")
        info.type, info.linkname = kind, target
        packed.addfile(info)
        info = tarfile.TarInfo("bad/through.txt")
        packed.addfile(info)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Path]:
    """A folder two deep, to which an archive may write; nothing else may appear."""
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("mine", encoding="utf-8")
    yield inner
    assert {path.name for path in tmp_path.iterdir()} == {"outer", "outside.txt"}
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["inner"]
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "mine"


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, but for locks."""
    return sorted(path for path in folder.iterdir() if path.suffix != ".lock")


def refused(archive: Path, message: str) -> None:
    """The error names the archive, and nothing of it stays."""
    before = listed(archive.parent)
    with pytest.raises(DataError, match=message) as error:
        unpack(archive, archive.with_name("out"))
    assert str(archive) in str(error.value)
    assert listed(archive.parent) == before


@pytest.mark.parametrize("name", NAMES)
def test_every_member_is_unpacked(name: str, box: Path) -> None:
    folder = unpack(pack(box / name, MEMBERS), box / "out")
    assert folder == box / "out"
    assert contents(folder) == MEMBERS


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_download_is_unpacked_beside_itself(
    name: str, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    data = pack(box / name, MEMBERS).read_bytes()
    with serving() as server:
        file = server.serve(name, data)
        folders = [fetch(Remote(name, server.url(name)), box / "to") for _ in range(2)]
    assert folders == [box / "to" / f"{name}.unpacked"] * 2
    assert contents(folders[0]) == MEMBERS
    assert len(file.requests) == 1


def test_an_archive_is_read_once(box: Path) -> None:
    archive = pack(box / "a.zip", MEMBERS)
    folder = unpack(archive, box / "out")
    (folder / "a.txt").write_bytes(b"mark")
    archive.unlink()
    assert unpack(archive, folder) == folder
    assert (folder / "a.txt").read_bytes() == b"mark"


def test_what_a_killed_process_left_is_not_taken_for_the_whole(box: Path) -> None:
    left = box / "out.part"
    left.mkdir()
    (left / "left.txt").write_bytes(b"half")
    assert contents(unpack(pack(box / "a.zip", MEMBERS), box / "out")) == MEMBERS
    assert not left.exists()


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize(
    "member",
    [
        "../outside.txt",
        "../../outside.txt",
        "deep/../../../outside.txt",
        "..",
        "/outside.txt",
        "//outside.txt",
        "C:\\outside.txt",
        "c:/outside.txt",
        "..\\..\\outside.txt",
        "\\outside.txt",
    ],
)
def test_a_member_outside_is_refused(member: str, name: str, box: Path) -> None:
    archive = pack(box / name, {"good.txt": b"good", member: b"bad"})
    refused(archive, "would lie outside its folder; refused")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_refused_archive_is_not_kept_open(name: str, box: Path) -> None:
    """What is still open when it is collected warns, and a warning is an error here."""
    refused(pack(box / name, {"good.txt": b"good", "../bad": b"bad"}), "outside")
    gc.collect()


def test_an_absolute_member_is_not_written(box: Path) -> None:
    place = box / "absolute.txt"
    for name in ("a.zip", "a.tar.gz"):
        refused(pack(box / name, {str(place): b"bad"}), "outside")
    assert not place.exists()


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE],
    ids=["symlink", "hardlink", "fifo", "character device", "block device"],
)
@pytest.mark.parametrize("target", ["../../outside.txt", "good.txt", "/", ".."])
def test_a_link_or_device_in_a_tar_is_refused(target: str, kind: bytes, box: Path) -> None:
    refused(pack_special(box / "a.tar.gz", kind, target), "holds 'bad', which is no plain file")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
@pytest.mark.parametrize("name", ["bad", "bad/"])
def test_a_link_or_device_in_a_zip_is_refused(name: str, kind: int, box: Path) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(box / "a.zip", "w") as packed:
        packed.writestr("good.txt", "good")
        packed.writestr(info, "../../outside.txt")
    refused(box / "a.zip", f"holds '{name}', which is no plain file")


def test_a_member_is_never_executable(box: Path) -> None:
    info = tarfile.TarInfo("program")
    info.mode = 0o6777
    with tarfile.open(box / "a.tar.gz", "w:gz") as packed:
        packed.addfile(info)
    mode = (unpack(box / "a.tar.gz", box / "out") / "program").stat().st_mode
    assert not mode & (stat.S_ISUID | stat.S_ISGID | 0o111)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.9], ids=["empty", "a third left", "a tenth gone"])
def test_an_archive_cut_short_is_damaged(part: float, name: str, box: Path) -> None:
    noise = {f"{number}.bin": NOISE.randbytes(30_000) for number in range(5)}
    archive = pack(box / name, noise)
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * part)])
    refused(archive, f"{name} is a damaged archive")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar.xz", "a.tar.bz2"])
def test_an_archive_with_changed_bytes_is_damaged(name: str, box: Path) -> None:
    archive = pack(box / name, {"a.bin": NOISE.randbytes(20_000)})
    data = bytearray(archive.read_bytes())
    data[9000:9100] = bytes(byte ^ 0xFF for byte in data[9000:9100])
    archive.write_bytes(data)
    refused(archive, f"{name} is a damaged archive")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_archive_is_damaged(name: str, box: Path) -> None:
    (box / name).write_bytes(b"<html>not found</html>\n" * 100)
    refused(box / name, f"{name} is a damaged archive")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_name_that_is_file_and_folder_is_damaged(name: str, box: Path) -> None:
    refused(pack(box / name, {"a": b"file", "a/b": b"inside"}), name)


@pytest.mark.parametrize("flag", ["encrypted", "unknown method"])
def test_a_zip_member_that_cannot_be_read_is_a_data_error(flag: str, box: Path) -> None:
    """The bytes of the two headers of one member: flags at 6 and 8, method at 8 and 10."""
    data = bytearray(pack(box / "a.zip", {"a.txt": b"text"}).read_bytes())
    central = data.index(b"PK\x01\x02")
    for place in (6, central + 8) if flag == "encrypted" else (8, central + 10):
        data[place] = 1 if flag == "encrypted" else 99
    (box / "a.zip").write_bytes(data)
    refused(box / "a.zip", r"a\.zip")


ZEROS = bytes(1 << 20)


def bomb(path: Path, megabytes: int) -> Path:
    """An archive of one member of zeros, which are packed to a thousandth."""
    if path.suffix == ".zip":
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
            packed.open("zeros", "w") as member,
        ):
            for _ in range(megabytes):
                member.write(ZEROS)
        return path
    with tarfile.open(path, "w:gz") as packed_tar:
        info = tarfile.TarInfo("zeros")
        info.size = megabytes << 20
        packed_tar.addfile(info, io.BytesIO(ZEROS * megabytes))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_archive_that_would_grow_a_hundredfold_is_refused(name: str, box: Path) -> None:
    archive = bomb(box / name, 70)
    assert archive.stat().st_size < 100_000
    refused(archive, "would unpack to more than 100 times as many")


def test_a_zip_is_refused_by_its_record_before_anything_is_written(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good member comes first; two gigabytes of zeros are only said to follow."""
    monkeypatch.setattr(archives.shutil, "copyfileobj", lambda *_: pytest.fail("written"))
    data = bytearray(pack(box / "a.zip", {"good.txt": b"good", "z": b"zeros"}).read_bytes())
    last = data.rindex(b"PK\x01\x02")
    data[last + 24 : last + 28] = (2 << 30).to_bytes(4, "little")
    (box / "a.zip").write_bytes(data)
    refused(box / "a.zip", "of 205 bytes, would unpack to more than")


def test_a_zip_member_has_no_more_bytes_than_its_record_says(box: Path) -> None:
    """The record says 5 bytes of 100,000; checksums of both are in it."""
    data = bytearray(pack(box / "a.zip", {"z": bytes(100_000)}).read_bytes())
    last = data.rindex(b"PK\x01\x02")
    for at in (data.index(b"PK\x03\x04") + 22, last + 24):
        data[at : at + 4] = (5).to_bytes(4, "little")
    (box / "a.zip").write_bytes(data)
    refused(box / "a.zip", "damaged archive")


def test_empty_members_count_too(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 100_000)
    with tarfile.open(box / "a.tar.gz", "w:gz") as packed:
        for _ in range(2000):
            packed.addfile(tarfile.TarInfo("the same"))
    refused(box / "a.tar.gz", "would unpack to more")


def test_zeros_after_the_last_member_count_too(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1 << 20)
    data = gzip.decompress(pack(box / "a.tar.gz", {"a": b"a"}).read_bytes())
    (box / "a.tar.gz").write_bytes(gzip.compress(data + ZEROS * 2))
    refused(box / "a.tar.gz", "would unpack to more")


def test_a_text_that_packs_well_is_unpacked(box: Path) -> None:
    lines = "".join(f"The cat number {i} sat on the mat.\n" for i in range(200_000)).encode()
    archive = pack(box / "a.tar.xz", {"a.txt": lines})
    assert contents(unpack(archive, box / "out")) == {"a.txt": lines}


def test_a_missing_archive_does_not_leave_a_folder(box: Path) -> None:
    with pytest.raises((DataError, FileNotFoundError)):
        unpack(box / "a.zip", box / "out")
    assert listed(box) == []


def test_a_full_disk_is_not_called_damage(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.shutil, "copyfileobj", copy)
    archive = pack(box / "a.zip", MEMBERS)
    with pytest.raises(OSError, match="out") as caught:
        unpack(archive, box / "out")
    assert caught.value.errno == 28
    assert listed(box) == [archive]


def test_two_who_unpack_at_once_both_find_every_member(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second comes when the first has written one member of three and is then let go on."""
    archive = pack(box / "a.zip", MEMBERS)
    real: Callable[[Path], Iterator[tuple[str, IO[bytes]]]] = archives._members
    second_came, first_is_done = threading.Event(), threading.Event()

    def first_or_second(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
        if threading.current_thread() is second:
            second_came.set()
            first_is_done.wait(timeout=2)
            yield from real(path)
            return
        for number, member in enumerate(real(path)):
            if number == 1:
                second.start()
                second_came.wait(timeout=1)
            yield member

    second = threading.Thread(target=lambda: unpack(archive, box / "out"), daemon=True)
    monkeypatch.setattr(archives, "_members", first_or_second)
    folder = unpack(archive, box / "out")
    first_is_done.set()
    second.join(timeout=10)
    assert contents(folder) == MEMBERS
