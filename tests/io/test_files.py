"""Small files, complete or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import output_file, replacing, write_json, write_tokenizer


def test_json_comes_back_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"猫": [1, 2.5, None]})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"猫": [1, 2.5, None]}
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("value", [{"a": object()}, {"a": "\ud800"}], ids=["no JSON", "no UTF-8"])
def test_a_failed_write_leaves_the_earlier_file(value: object, tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", 1)
    with pytest.raises((TypeError, UnicodeEncodeError)):
        write_json(tmp_path / "a.json", value)
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "1\n"


def test_a_tokenizer_that_finds_no_room_is_an_os_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        write_tokenizer(tmp_path, Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    assert not os.listdir(tmp_path)


def test_what_is_replaced_whole_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert output_file(tmp_path / "link") == tmp_path / "target"
    for name, message in (("folder", "is a folder"), ("pipe", "is no regular file")):
        with pytest.raises(DataError, match=message):
            output_file(tmp_path / name)


def test_a_shared_folder_keeps_what_others_have_there(tmp_path: Path) -> None:
    target, theirs = tmp_path / "a.txt", tmp_path / "a.txt.part"
    theirs.write_text("theirs")
    with replacing(target, is_shared=True) as one:
        one.write_text("one")
        assert one != theirs
        assert one.suffix == ".part"
    assert target.read_text() == "one"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "a.txt.part"]


def test_long_names_have_room_beside_them(tmp_path: Path) -> None:
    names = ["猫" * 80 + end for end in ("a", "b")]
    with (
        replacing(tmp_path / names[0], is_shared=True) as one,
        replacing(tmp_path / names[1], is_shared=True) as other,
    ):
        one.write_text("one")
        other.write_text("other")
    assert [(tmp_path / name).read_text() for name in names] == ["one", "other"]


@pytest.mark.skipif(os.name != "posix", reason="whether a process runs is asked of POSIX")
def test_what_a_killed_process_left_goes_and_what_a_running_one_writes_stays(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a.txt"
    with replacing(target, is_shared=True) as own:
        own.write_text("a")
        with replacing(target, is_shared=True) as other:
            other.write_text("of another thread")
    assert target.read_text() == "a"  # the last to end
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    start, own_number, _ = own.name.rpartition(f"{os.getpid()}-")
    assert own_number
    stays = [f"{start}{os.getppid()}-0.part", f"{start}x-0.part", "a.txt.old.part"]
    for name in (f"{start}{child.pid}-7.part", *stays):
        (tmp_path / name).write_text("left")
    with replacing(target, is_shared=True) as own:
        own.write_text("b")
    assert target.read_text() == "b"
    assert sorted(os.listdir(tmp_path)) == sorted(["a.txt", *stays])


@pytest.mark.skipif(os.name != "posix", reason="whether a process runs is asked of POSIX")
def test_what_cannot_be_removed_is_let_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    with replacing(target, is_shared=True) as own:
        own.write_text("a")
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    start = own.name.rpartition(f"{os.getpid()}-")[0]
    left = tmp_path / f"{start}{child.pid}-0.part"
    left.write_text("of another user")
    unlink = Path.unlink

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path == left:
            raise PermissionError(path)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    with replacing(target, is_shared=True) as own:
        own.write_text("b")
    assert target.read_text() == "b"


def test_a_folder_is_replaced_and_what_lies_beside_it_stays(tmp_path: Path) -> None:
    target, beside = tmp_path / "m", tmp_path / "m.old.part"
    for folder in (target, beside):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)
    with replacing(target, is_shared=True) as own:
        own.mkdir()
        (own / "a.txt").write_text("new")
    assert (target / "a.txt").read_text() == "new"
    assert (beside / "a.txt").read_text() == "m.old.part"
    assert sorted(os.listdir(tmp_path)) == ["m", "m.old.part"]
