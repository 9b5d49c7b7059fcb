"""Token ids to means of the rows of a table, in numpy: the slow path of averaging models.

It needs neither torch nor the compiled module, and serves every tokenizer. The fast path is in
`static.py`, models that do more than average are computed in `batches.py`.
"""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.encoding.packing import unpacked, width
from paraphrastic_hf.text.ragged import Ragged

TEXTS_AT_A_TIME = 4096
TOKENS_AT_A_TIME = 16_384


def mean_rows(numbers: np.ndarray, texts: Ragged, *, progress: bool = False) -> np.ndarray:
    """The mean of the rows of each text's tokens, summed in float64.

    Args:
        numbers: The row of every token, (vocab, dim) float32, or packed as `packing.py` describes.
        texts: The token ids of all texts. One without tokens gives zeros.
        progress: Whether to show a progress bar.

    Returns:
        (texts, dim) float32.

    Example:
        >>> mean_rows(np.eye(3, dtype=np.float32), Ragged.from_lists([[0, 1], [], [2]]))
        array([[0.5, 0.5, 0. ],
               [0. , 0. , 0. ],
               [0. , 0. , 1. ]], dtype=float32)
    """
    from tqdm.auto import tqdm

    output = np.zeros((len(texts), width(numbers)), np.float32)
    with tqdm(total=len(texts), unit=" texts", unit_scale=True, disable=not progress) as bar:
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            stop = min(start + TEXTS_AT_A_TIME, len(texts))
            offsets = texts.offsets[start : stop + 1]
            ids = texts.ids[offsets[0] : offsets[-1]]
            output[start:stop] = _means(numbers, ids, offsets - offsets[0])
            bar.update(stop - start)
    return output


def _means(numbers: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The means of a few texts; a long text is summed in pieces."""
    lengths = np.diff(offsets)
    sums = np.zeros((len(lengths), width(numbers)))
    filled = np.flatnonzero(lengths)
    starts = offsets[filled]
    for start in range(0, len(ids), TOKENS_AT_A_TIME):
        part = ids[start : start + TOKENS_AT_A_TIME]
        first = np.searchsorted(starts, start, "right") - 1
        last = np.searchsorted(starts, start + len(part))
        rows = unpacked(numbers[part]).astype(np.float64)
        begins = np.maximum(starts[first:last] - start, 0)
        sums[filled[first:last]] += np.add.reduceat(rows, begins, axis=0)
    return sums / np.maximum(lengths, 1)[:, None]
