import json
import os

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import output_file, replacing, write_json


def test_json_is_written_without_leftovers(tmp_path):
    write_json(tmp_path / "a.json", {"猫": [1, 2.5, None]})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"猫": [1, 2.5, None]}
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("value", [{"a": object()}, {"a": "\ud800"}], ids=["no JSON", "no UTF-8"])
def test_a_failed_write_keeps_the_previous_file(value, tmp_path):
    write_json(tmp_path / "a.json", 1)
    with pytest.raises((TypeError, UnicodeEncodeError)):
        write_json(tmp_path / "a.json", value)
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "1\n"


def test_output_must_be_a_regular_file(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert output_file(tmp_path / "link") == tmp_path / "target"
    for name in ("folder", "pipe"):
        with pytest.raises(DataError):
            output_file(tmp_path / name)


def test_a_shared_folder_keeps_files_of_others(tmp_path):
    target, theirs = tmp_path / ("猫" * 80), tmp_path / f"{'猫' * 80}.part"
    theirs.write_text("theirs")
    with replacing(target, is_shared=True) as one, replacing(target, is_shared=True) as other:
        one.write_text("one")
        other.write_text("other")
        assert len({one, other, theirs}) == 3
        assert one.suffix == ".part"
    assert target.read_text() == "one"
    assert sorted(os.listdir(tmp_path)) == [target.name, theirs.name]


def test_replacing_a_folder_keeps_its_siblings(tmp_path):
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
