import mmap

import numpy as np

from paraphrastic_hf.errors import DataError, counted

ROWS_AT_A_TIME = 16_384
SCATTERED_ROWS = 512  # reading one vector of a mapped file loads about 16 pages


class UnitRows:
    """The nonzero rows of a matrix, (n, dim), which may be memory-mapped, scaled to length 1 when
    they are read. `rows` are the indices in use, increasing, (count,).
    """

    def __init__(
        self, vectors: np.ndarray, rows: np.ndarray | None = None, name: str = "vectors"
    ) -> None:
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise DataError(f"{name} must be of shape (rows, dim), got {vectors.shape}")
        self._vectors = vectors
        self.rows = np.arange(len(vectors)) if rows is None else np.asarray(rows, np.int64)
        squares = np.empty(len(self.rows))
        for start in range(0, len(self.rows), ROWS_AT_A_TIME):
            with np.errstate(over="ignore"):  # float64 beyond float32 is refused below
                block = self._read(self.rows[start : start + ROWS_AT_A_TIME])
            squares[start : start + len(block)] = np.einsum(
                "nd,nd->n", block, block, dtype=np.float64
            )
        if not np.isfinite(squares).all():
            bad = self.rows[~np.isfinite(squares)]
            raise DataError(
                f"{name} has NaN or infinity in {counted(len(bad), 'row')}, first {bad[0]}"
            )
        self.rows = self.rows[squares > 0]
        self._scale = (1 / np.sqrt(squares[squares > 0])).astype(np.float32)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dimension(self) -> int:
        return int(self._vectors.shape[1])

    def take(self, ids: np.ndarray | slice) -> np.ndarray:
        """Return the unit vectors at the given positions in `rows`, (count, dim) float32."""
        return np.asarray(self._read(self.rows[ids]) * self._scale[ids][:, None])

    def fill(self, block: np.ndarray, start: int) -> None:
        """Fill a block, (count, dim) float32, with the unit vectors from position `start` on."""
        for offset in range(0, len(block), ROWS_AT_A_TIME):
            part = block[offset : offset + ROWS_AT_A_TIME]
            part[:] = self.take(slice(start + offset, start + offset + len(part)))

    def _read(self, rows: np.ndarray) -> np.ndarray:
        mapped = getattr(self._vectors, "_mmap", None)
        if getattr(self._vectors, "mode", None) == "c":  # copy-on-write pages hold changes
            mapped = None
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            block = np.array(self._vectors[rows[0] : rows[-1] + 1], np.float32)
        elif mapped is None:
            return np.asarray(self._vectors[rows], np.float32)
        else:
            block = np.empty((len(rows), self.dimension), np.float32)
            for start in range(0, len(rows), SCATTERED_ROWS):
                block[start : start + SCATTERED_ROWS] = self._vectors[
                    rows[start : start + SCATTERED_ROWS]
                ]
                _release(mapped)
        _release(mapped)
        return block


def _release(mapped: mmap.mmap | None) -> None:
    """Release the pages of a mapped file, which otherwise count as memory of this process."""
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
