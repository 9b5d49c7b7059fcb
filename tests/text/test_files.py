"""Small files, complete or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from paraphrastic_hf.text.files import write_json


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
