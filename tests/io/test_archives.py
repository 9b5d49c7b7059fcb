import gc
import io
import random
import tarfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from paraphrastic_hf.errors import DataError, DiskError
from paraphrastic_hf.io import archives
from paraphrastic_hf.io.archives import unpack
from tests.io.packed import names

MEMBERS = {"a.txt": b"one\n", "deep/er/b.txt": b"two\n" * 5000, "deep/empty": b""}
NAMES = ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "a.tar.bz2"]
NOISE = random.Random(0)


def pack(path: Path, members: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
        return path
    packing = path.suffix[1:].replace("tgz", "gz").replace("tar", "")
    with tarfile.open(path, f"w:{packing}") as packed_tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed_tar.addfile(info, io.BytesIO(content))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def box(tmp_path):
    """A nested folder that an archive may write to. Nothing may appear outside."""
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("mine", encoding="utf-8")
    yield inner
    assert {path.name for path in tmp_path.iterdir()} == {"outer", "outside.txt"}
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["inner"]
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "mine"


def refused(archive: Path) -> None:
    """The error names the archive, and nothing is left."""
    before = names(archive.parent)
    with pytest.raises(DataError) as error:
        unpack(archive, archive.with_name("out"))
    assert str(archive) in str(error.value)
    assert names(archive.parent) == before


@pytest.mark.parametrize("name", NAMES)
def test_every_member_is_unpacked_once(name, box):
    archive = pack(box / name, MEMBERS)
    left = box / "out.part"  # left by a killed process
    left.mkdir()
    (left / "left.txt").write_bytes(b"half")
    folder = unpack(archive, box / "out")
    assert contents(folder) == MEMBERS
    assert not left.exists()
    archive.unlink()
    assert unpack(archive, folder) == folder


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("member", ["../bad", "../../outside.txt", "deep/../../../outside.txt"])
def test_a_member_outside_is_refused(member, name, box):
    refused(box / name)  # it does not exist
    refused(pack(box / name, {"good.txt": b"good", member: b"bad"}))


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_absolute_member_stays_in_the_folder(name, box, tmp_path):
    archive = pack(box / name, {str(tmp_path / "outside.txt"): b"bad"})
    with suppress(DataError):
        unpack(archive, box / "out")


@pytest.mark.parametrize("target", ["../../outside.txt", "good.txt", "/"])
@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE], ids=["symlink", "link", "fifo"]
)
def test_a_link_or_device_in_a_tar_is_refused(target, kind, box):
    with tarfile.open(box / "a.tar.gz", "w:gz") as packed:
        for name in ("good.txt", "bad", "bad/through.txt"):
            info = tarfile.TarInfo(name)
            if name == "bad":
                info.type, info.linkname = kind, target
            packed.addfile(info)
    refused(box / "a.tar.gz")


def test_a_link_in_a_zip_becomes_a_file(box):
    info = zipfile.ZipInfo("bad")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(box / "a.zip", "w") as packed:
        packed.writestr(info, "../../outside.txt")
    assert not (unpack(box / "a.zip", box / "out") / "bad").is_symlink()


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_archive_is_refused(name, box):
    archive = pack(box / name, {f"{number}.bin": NOISE.randbytes(30_000) for number in range(5)})
    data = archive.read_bytes()
    changed = bytearray(data)
    changed[9000:9100] = bytes(byte ^ 0xFF for byte in data[9000:9100])
    page = b"<html>gone</html>\n" * 100
    for damaged in (b"", data[: len(data) // 3], data[: len(data) * 9 // 10], changed, page):
        archive.write_bytes(damaged)
        if name != "a.tar" or damaged is not changed:  # tar has no checksum of its content
            refused(archive)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_name_that_is_file_and_folder_is_refused(name, box):
    refused(pack(box / name, {"a": b"file", "a/b": b"inside"}))
    gc.collect()  # open files cause a warning, which is an error in tests


def test_a_full_disk_is_not_called_damage(box, monkeypatch):
    def fill(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", fill)
    archive = pack(box / "a.zip", MEMBERS)
    with pytest.raises(DiskError):
        unpack(archive, box / "out")
    assert names(box) == {"a.zip"}


def test_concurrent_unpacking_is_done_once(box, monkeypatch):
    archive = pack(box / "a.zip", MEMBERS)
    calls, start, extract = [], threading.Barrier(2), archives._extract

    def slowly(archive: Path, folder: Path) -> None:
        calls.append(folder)
        time.sleep(0.2)
        extract(archive, folder)

    def one(_: int) -> dict[str, bytes]:
        start.wait(timeout=10)
        return contents(unpack(archive, box / "out"))

    monkeypatch.setattr(archives, "_extract", slowly)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, range(2))) == [MEMBERS] * 2
    assert len(calls) == 1
