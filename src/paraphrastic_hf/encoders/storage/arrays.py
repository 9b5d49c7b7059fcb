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
    """Yield a function that appends vectors, (n, dim), to a `.npy` file of unknown length, and
    ignores the texts. A failed block leaves an existing file unchanged. `is_shared` as in
    `replacing`.
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
    """Return the `.npy` header of a float32 array, `HEADER_BYTES` bytes for any number of rows."""
    header = io.BytesIO()
    description = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    return header.getvalue()
