"""Averages of token vectors in numpy: slow, but without torch and the C extension."""

import numpy as np

from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.text.ragged import Ragged

TOKENS_AT_A_TIME = 16_384  # bounds the memory for long texts


def mean_rows(table: Table, texts: Ragged, *, progress: bool = False) -> np.ndarray:
    """Return the mean token vector of each text, or the embeddings of a window encoder, (texts,
    dim) float32. A text without tokens gives zeros.
    """
    from tqdm.auto import tqdm

    output = np.zeros((len(texts), table.dimension), np.float32)
    for number in tqdm(range(len(texts)), unit=" texts", unit_scale=True, disable=not progress):
        ids = texts[number]
        for start in range(0, len(ids), TOKENS_AT_A_TIME):
            rows = table.rows(ids[start : start + TOKENS_AT_A_TIME])
            output[number] += rows.sum(0, dtype=np.float64) / len(ids)
        if table.window is not None:
            output[number] = table.window.embedding(output[number], ids)
    return output
