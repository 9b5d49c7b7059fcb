from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from paraphrastic_hf.io.files import naming, output_file, replacing

HEADER_BYTES = 128


@contextmanager
def array_writer(
    path: Path, *, is_shared: bool = True
) -> Iterator[Callable[[Sequence[str], np.ndarray], None]]:
    """Open a writer of vectors to a `.npy` file, a float32 array (texts, dim) of unknown length.

    The file and its folder are created if missing. If the `with` block raises, an existing file
    stays unchanged.

    Args:
        is_shared: As in `replacing`. False if a lock keeps other processes from writing the file.

    Yields:
        A function that takes texts and their vectors, (n, dim). It appends the vectors and ignores
        the texts.
    """
    target, shape = output_file(path), (0, 0)

    def write(texts: Sequence[str], vectors: np.ndarray) -> None:
        nonlocal shape
        shape = (shape[0] + len(vectors), vectors.shape[1])
        file.write(np.ascontiguousarray(vectors, "<f4").reshape(-1).view(np.uint8).data)

    with naming(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, is_shared=is_shared) as partial, partial.open("wb") as file:
            file.write(bytes(HEADER_BYTES))
            yield write
            file.seek(0)
            file.write(array_header(shape))


def array_header(shape: tuple[int, int]) -> bytes:
    """Return the `.npy` header of a float32 array, padded to `HEADER_BYTES` bytes."""
    header = io.BytesIO()
    description = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    text = header.getvalue()
    length = (HEADER_BYTES - 10).to_bytes(2, "little")
    return text[:8] + length + text[10:].rstrip(b"\n ").ljust(HEADER_BYTES - 11) + b"\n"
