"""Writes texts and vectors to Arrow files: one file, or a folder of parquet files.

Tables have the columns `text` and `vector`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import naming, output_file, replacing

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[[Sequence[str], np.ndarray], None]
TEXTS_PER_FILE = 1_000_000


@contextmanager
def shard_writer(folder: Path) -> Iterator[Write]:
    """Yield a function that appends texts and vectors to `part-00000.parquet`, ..., of about a
    million texts each. The folder appears only if the `with` block succeeds.
    """
    require("data", "pyarrow", what=f"writing parquet files to {folder}")
    if folder.exists():
        raise DataError(f"{folder} exists already. Choose another folder, or remove it")
    with naming(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder, is_shared=True) as partial:
            partial.mkdir()
            shards = _Shards(partial)
            try:
                yield shards.write
            finally:
                shards.close()


@contextmanager
def table_writer(path: Path) -> Iterator[Write]:
    """Yield a function that appends texts and vectors, (texts, dim), to one parquet file, Arrow IPC
    file (`.arrow`, `.feather`) or Lance dataset. A failed block leaves an existing file unchanged.
    """
    require("data", "pyarrow", what=f"writing {path}")
    if path.suffix == ".lance":
        require("lance", "lance", what=f"writing {path}")
        if path.exists():
            raise DataError(f"{path} exists already. Choose another name, or remove it")
    target = path if path.suffix == ".lance" else output_file(path)
    with naming(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, is_shared=True) as partial:
            file = _File(partial, path.suffix)
            try:
                yield file.write
            finally:
                file.close()


class _File:
    def __init__(self, path: Path, suffix: str) -> None:
        self._path, self._suffix = path, suffix
        self._writer: Any = None
        self.texts = 0

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        import pyarrow as pa

        numbers = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
        table = pa.table({"text": pa.array(texts).cast(pa.string()), "vector": column})
        if self._writer is None:
            self._writer = _open(self._path, self._suffix, table.schema)
        self._writer.write_table(table)
        self.texts += len(texts)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _open(path: Path, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".lance":
        return _Lance(str(path), schema)
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)
    import pyarrow as pa

    return pa.ipc.new_file(path, schema)


class _Lance:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._fragments: list[Any] = []

    def write_table(self, table: pa.Table) -> None:
        from lance.fragment import write_fragments

        self._fragments += write_fragments(table, self._path, mode="create")

    def close(self) -> None:
        import lance

        operation = lance.LanceOperation.Overwrite(self._schema, self._fragments)
        lance.LanceDataset.commit(self._path, operation)


class _Shards:
    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        self._file: _File | None = None

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        if self._file is None:
            self._file = _File(self._folder / f"part-{self._count:05d}.parquet", ".parquet")
            self._count += 1
        self._file.write(texts, vectors)
        if self._file.texts >= TEXTS_PER_FILE:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
