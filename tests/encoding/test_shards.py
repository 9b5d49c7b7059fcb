"""Texts with vectors as parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf.encoding import shards
from paraphrastic_hf.encoding.shards import ShardWriter
from paraphrastic_hf.errors import DataError


def test_files_hold_every_row_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROWS_PER_FILE", 4)
    vectors = np.arange(30, dtype=np.float32).reshape(10, 3)
    texts = [f"text {i}" for i in range(10)]
    writer = ShardWriter(tmp_path / "out")
    for start in range(0, 10, 2):
        writer.write(texts[start : start + 2], vectors[start : start + 2])
    writer.finish()
    writer.close()
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == [f"part-0000{i}.parquet" for i in range(3)]
    table = pq.read_table(tmp_path / "out")
    assert table["text"].to_pylist() == texts
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), vectors)


def test_an_unfinished_folder_leaves_nothing(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "out")
    writer.write(["a"], np.ones((1, 3), np.float32))
    writer.close()
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is there already"):
        ShardWriter(tmp_path)
