"""The blocks of the guide to other libraries run with the real libraries."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.cli.main import main
from tests.docs.test_readme import blocks

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "integrations.md"
TEXT = GUIDE.read_text(encoding="utf-8")
LIBRARY = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
PYTHON = [block for block in blocks(TEXT) if block.language == "python"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the exports of the page."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("guide")
    (commands,) = [block for block in blocks(TEXT) if block.language == "sh"]
    for command in commands.text.splitlines():
        *words, output = shlex.split(command)[1:]
        assert main([*words, str(folder / output)]) == 0
    return folder


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: LIBRARY.findall(block.text)[0])
@pytest.mark.filterwarnings("default")  # those of other libraries
def test_a_block_runs(block: Any, request: Any, tmp_path: Path, monkeypatch: Any) -> None:
    for library in LIBRARY.findall(block.text):
        pytest.importorskip(library)
    where = request.getfixturevalue("folder") if "english-" in block.text else tmp_path
    monkeypatch.chdir(where)
    place = f"{GUIDE.name}, line {block.line}"
    exec(compile(block.text, place, "exec", dont_inherit=True), {"__name__": "__main__"})
