"""Token ids to means of the rows of a table, in numpy: the slow path of averaging models.

It needs neither torch nor the compiled module, and serves every tokenizer. The fast path is in
`static/engine.py`, models that do more than average are computed in `batches.py`.
"""

from __future__ import annotations

import numpy as np

from paraphrastic_hf.encoders.storage.packing import unpacked, width
from paraphrastic_hf.text.ragged import Ragged

TOKENS_AT_A_TIME = 16_384  # of a long text


def mean_rows(numbers: np.ndarray, texts: Ragged, *, progress: bool = False) -> np.ndarray:
    """The mean of the rows of each text's tokens, summed in float64.

    Args:
        numbers: The row of every token, (vocab, dim) float32, or packed as
            `storage/packing.py` describes.
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
    for number in tqdm(range(len(texts)), unit=" texts", unit_scale=True, disable=not progress):
        ids = texts[number]
        for start in range(0, len(ids), TOKENS_AT_A_TIME):
            rows = unpacked(numbers[ids[start : start + TOKENS_AT_A_TIME]])
            output[number] += rows.sum(0, dtype=np.float64) / len(ids)
    return output
