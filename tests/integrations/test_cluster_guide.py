"""The blocks of the guide to clusters run with the real libraries."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from tests.docs.test_readme import blocks
from tests.texts import SENTENCES

pa = pytest.importorskip("pyarrow")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "cluster.md"
PYTHON = [block for block in blocks(GUIDE.read_text("utf-8")) if block.language == "python"]
LIBRARY = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: LIBRARY.findall(block.text)[0])
@pytest.mark.filterwarnings("default")  # those of other libraries
def test_a_block_embeds_the_texts(block: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import pyarrow.parquet as pq

    for library in LIBRARY.findall(block.text):
        pytest.importorskip(library)
    if "pyspark" in block.text and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    (tmp_path / "texts").mkdir()
    texts = SENTENCES[:5]
    pq.write_table(pa.table({"text": texts}), tmp_path / "texts" / "0.parquet")
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, GUIDE.name, "exec", dont_inherit=True), {"__name__": "__main__"})
    (output,) = tmp_path.glob("vectors-*")
    found = pa.concat_tables([pq.read_table(path) for path in output.glob("*.parquet")]).to_pydict()
    column = found.get("vector") or [row["vector"] for row in found["metadata"]]
    encoder = SentenceEncoder.from_pretrained("english")
    expected = encoder.encode(found["text"], normalize_embeddings=True)
    np.testing.assert_allclose(column, expected, atol=1e-6)
    assert sorted(found["text"]) == sorted(texts)
