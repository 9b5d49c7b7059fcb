from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import naming, replacing

TEXTS_PER_FILE = 1_000_000


@contextmanager
def shard_writer(folder: Path) -> Iterator[Callable[[Sequence[str], np.ndarray], None]]:
    """Open a writer of texts and vectors to a new folder of parquet files.

    The files are `part-00000.parquet`, `part-00001.parquet`, ..., with columns `text` and `vector`
    and about a million texts each. The folder appears only if the `with` block succeeds.

    Yields:
        A function that appends texts with their vectors, (texts, dim).
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


class _Shards:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None
        self._files = self._texts = 0  # number of files, and of texts in the last file

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
        table = pa.table({"text": pa.array(texts, pa.string()), "vector": column})
        if self._writer is None:
            path = self._folder / f"part-{self._files:05d}.parquet"
            self._writer = pq.ParquetWriter(path, table.schema)
            self._files, self._texts = self._files + 1, 0
        self._writer.write_table(table)
        self._texts += len(texts)
        if self._texts >= TEXTS_PER_FILE:
            self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
