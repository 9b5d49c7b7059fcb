"""Texts and vectors written to files."""

import importlib.util

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf.encoders import shards
from paraphrastic_hf.encoders.shards import shard_writer, table_writer
from paraphrastic_hf.encoders.storage.arrays import array_writer
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.arrow import text_blocks

TEXTS = [f"text {i}" for i in range(10)]
VECTORS = np.arange(30, dtype=np.float32).reshape(10, 3)
WRITERS = {
    "v.npy": array_writer,
    "v": shard_writer,
    **dict.fromkeys(("v.parquet", "v.arrow", "v.feather"), table_writer),
}
if importlib.util.find_spec("lance"):
    WRITERS["v.lance"] = table_writer


def test_parquet_files_contain_every_text_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "TEXTS_PER_FILE", 4)
    with shard_writer(tmp_path / "new" / "out") as write:
        for start in range(0, 10, 2):
            write(TEXTS[start : start + 2], VECTORS[start : start + 2])
    files = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert files == [f"part-0000{i}.parquet" for i in range(3)]
    table = pq.read_table(tmp_path / "new" / "out")
    assert table["text"].to_pylist() == TEXTS
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), VECTORS)


@pytest.mark.parametrize("name", [name for name in WRITERS if WRITERS[name] is table_writer])
@pytest.mark.parametrize("count", [0, 10])
def test_a_file_is_read_back(name, count, tmp_path):
    path = tmp_path / "new" / name
    with table_writer(path) as write:
        for start in range(0, max(count, 1), 4):
            texts = TEXTS[start : min(start + 4, count)]
            write(pa.array(texts, pa.large_string()), VECTORS[start : start + len(texts)])
    blocks = text_blocks(path, "text")
    assert [text for block in blocks for text in block.to_pylist()] == TEXTS[:count]
    assert [each.name for each in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError])
def test_a_failed_write_leaves_nothing(name, error, tmp_path):
    def broken() -> None:
        with WRITERS[name](tmp_path / name) as write:
            write(TEXTS, VECTORS)
            raise error

    with pytest.raises(error):
        broken()
    assert not any(tmp_path.iterdir())


def test_an_array_is_replaced_only_when_complete(tmp_path):
    path = tmp_path / "v.npy"
    path.write_bytes(b"old")
    with array_writer(path) as write:
        for start in range(0, 10, 3):
            write(TEXTS[start : start + 3], VECTORS[start : start + 3].astype(np.float64))
        assert path.read_bytes() == b"old"
    found = np.load(path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, VECTORS)
    with pytest.raises(DataError), shard_writer(tmp_path):  # a folder is not replaced
        pass


@pytest.mark.parametrize("name", WRITERS)
def test_an_unwritable_path_is_named(name, tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / name
    with pytest.raises(DataError, match=str(path)), WRITERS[name](path):
        pass
