"""A `.npy` file written row block by row block, complete or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.files import output_file

HEADER_BYTES = 128


class ArrayWriter:
    """Appends float32 rows to a `.npy` file whose length is not known beforehand.

    Args:
        path: The finished file. Until `finish`, rows go to `path` + `.part`, which `close` removes.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "vectors.npy"
        >>> writer = ArrayWriter(path)
        >>> writer.write(np.ones((2, 3), np.float32)); writer.finish(); writer.close()
        >>> np.load(path).shape
        (2, 3)
    """

    def __init__(self, path: Path) -> None:
        path = output_file(path)
        self._path, self._partial = path, path.with_name(path.name + ".part")
        self._shape: tuple[int, ...] = (0, 0)
        try:
            self._file = self._partial.open("wb")
        except OSError as error:
            raise DataError(f"cannot write {path}: {error}") from error
        self._file.write(bytes(HEADER_BYTES))

    def write(self, rows: np.ndarray) -> None:
        """Append rows, (n, dim).

        Raises:
            DataError: The disk is full; nothing is left behind.
        """
        self._shape = (self._shape[0] + len(rows), *rows.shape[1:])
        try:
            self._file.write(np.ascontiguousarray(rows, "<f4").reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise DataError(f"cannot write {self._path}: {error}") from error

    def finish(self) -> None:
        """Write the header and give the file its name."""
        header = io.BytesIO()
        description = {"descr": "<f4", "fortran_order": False, "shape": self._shape}
        np.lib.format.write_array_header_1_0(header, description)
        text = header.getvalue()
        # The format lets spaces pad a header: make every one equally long, so it can be written
        # last.
        length = (HEADER_BYTES - 10).to_bytes(2, "little")
        padded = text[:8] + length + text[10:].rstrip(b"\n ").ljust(HEADER_BYTES - 11) + b"\n"
        try:
            self._file.seek(0)
            self._file.write(padded)
            self._file.close()
            os.replace(self._partial, self._path)
        except OSError as error:
            raise DataError(f"cannot write {self._path}: {error}") from error

    def close(self) -> None:
        """Remove what is not finished."""
        try:
            self._file.close()
        finally:
            self._partial.unlink(missing_ok=True)
