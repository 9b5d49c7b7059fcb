"""The blocks of the guides to other libraries run with the real libraries."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from tests.docs.test_readme import blocks
from tests.texts import SENTENCES

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
LIBRARY = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
pytestmark = pytest.mark.filterwarnings("default")  # those of other libraries


def blocks_of(guide: str, language: str) -> list[Any]:
    text = (GUIDES / guide).read_text(encoding="utf-8")
    return [block for block in blocks(text) if block.language == language]


def of_libraries(guide: str) -> pytest.MarkDecorator:
    found = blocks_of(guide, "python")
    return pytest.mark.parametrize("block", found, ids=lambda b: LIBRARY.findall(b.text)[0])


def run(block: Any, folder: Path) -> None:
    for library in LIBRARY.findall(block.text):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    if "pyspark" in block.text and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    # A process of its own, because Spark and Ray keep the folder in which they first started.
    subprocess.run([sys.executable, "-c", block.text], cwd=folder, check=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the exports of the page."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("guide")
    (commands,) = blocks_of("integrations.md", "sh")
    for command in commands.text.splitlines():
        *words, output = shlex.split(command)[1:]
        assert main([*words, str(folder / output)]) == 0
    return folder


@of_libraries("integrations.md")
def test_a_block_runs(block, request, tmp_path):
    run(block, request.getfixturevalue("folder") if "english-" in block.text else tmp_path)


@of_libraries("cluster.md")
def test_a_block_embeds_the_texts(block, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "texts").mkdir()
    texts = SENTENCES[:5]
    pq.write_table(pa.table({"text": texts}), tmp_path / "texts" / "0.parquet")
    run(block, tmp_path)
    (output,) = tmp_path.glob("vectors-*")
    found = pa.concat_tables([pq.read_table(path) for path in output.glob("*.parquet")]).to_pydict()
    column = found.get("vector") or [row["vector"] for row in found["metadata"]]
    encoder = SentenceEncoder.from_pretrained("english")
    expected = encoder.encode(found["text"], normalize_embeddings=True)
    np.testing.assert_allclose(column, expected, atol=1e-6)
    assert sorted(found["text"]) == sorted(texts)
