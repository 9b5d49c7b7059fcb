"""Texts with their vectors as a folder of parquet files, complete or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError

ROWS_PER_FILE = 1_000_000


class ShardWriter:
    """Appends rows of `text` and `vector` to `part-00000.parquet`, `part-00001.parquet`, ...

    Args:
        folder: The finished folder. Until `finish`, files lie in `folder` + `.part`.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "vectors"
        >>> writer = ShardWriter(folder)
        >>> writer.write(["a"], np.ones((1, 3), np.float32)); writer.finish(); writer.close()
        >>> import pyarrow.parquet
        >>> pyarrow.parquet.read_table(folder).num_rows
        1
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists():
            raise DataError(f"{folder} is there already; choose another folder, or remove it")
        self._folder, self._partial = folder, folder.with_name(folder.name + ".part")
        self._writer: Any = None
        self._rows = self._files = 0
        try:
            shutil.rmtree(self._partial, ignore_errors=True)
            self._partial.mkdir(parents=True)
        except OSError as error:
            raise DataError(f"cannot write {folder}: {error}") from error

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Append texts with their vectors, (n, dim).

        Raises:
            DataError: The disk is full; `close` leaves nothing behind.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = pa.array(np.ascontiguousarray(vectors, np.float32).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1])
        table = pa.table({"text": pa.array(texts, pa.string()), "vector": column})
        try:
            if self._writer is None:
                path = self._partial / f"part-{self._files:05d}.parquet"
                self._writer = pq.ParquetWriter(path, table.schema)
                self._files, self._rows = self._files + 1, 0
            self._writer.write_table(table)
            self._rows += len(texts)
            if self._rows >= ROWS_PER_FILE:
                self._writer.close()
                self._writer = None
        except OSError as error:
            raise DataError(f"cannot write {self._folder}: {error}") from error

    def finish(self) -> None:
        """Close the last file and give the folder its name."""
        try:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            os.replace(self._partial, self._folder)
        except OSError as error:
            raise DataError(f"cannot write {self._folder}: {error}") from error

    def close(self) -> None:
        """Remove what is not finished."""
        if self._writer is not None:
            self._writer.close()
        shutil.rmtree(self._partial, ignore_errors=True)
