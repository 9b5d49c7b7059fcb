"""Averages the token tables of several training runs with the same vocabulary.

Averaging reduces the noise of training. Before averaging, each table is rotated onto the others
(orthogonal Procrustes), which changes no cosine. See `recipes/default/trials.md`.
"""

from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer

BLOCK = 65_536  # rows multiplied at a time
LEAST = 1e-30  # smallest divisor


def merged_table(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of token tables, (vocab, dim) float32.

    Each table is first rotated onto the mean of the tables before it, and scaled to the root mean
    square row length of the first. A row gets the mean of the lengths, because the mean row would
    be too short if the runs disagree on a token.
    """
    mean = tables[0].astype(np.float32)
    size = _size(mean)
    lengths = np.linalg.norm(mean, axis=1)
    for number, table in enumerate(tables[1:], start=1):
        turned = table.astype(np.float32) @ _rotation(table, mean)
        turned *= size / max(_size(turned), LEAST)
        lengths += (np.linalg.norm(turned, axis=1) - lengths) / (number + 1)
        mean += (turned - mean) / (number + 1)
    mean *= (lengths / np.maximum(np.linalg.norm(mean, axis=1), LEAST))[:, None]
    return mean


def check_alike(
    encoder: SentenceEncoder, tokenizer: TextTokenizer, dimension: int, name: str
) -> None:
    """Raise a `ModelError` unless `encoder` averages with this tokenizer and dimension."""
    if encoder.table(slice(0, 0)) is None:
        raise ModelError(f"{encoder.name} is not an averaging model and cannot be merged")
    own, other = encoder.tokenizer, tokenizer
    if own.lowercase != other.lowercase or own.tokens() != other.tokens():
        raise ModelError(
            f"{encoder.name} and {name} have different vocabularies ({own.vocab_size:,} and "
            f"{other.vocab_size:,} entries). Train one of them "
            "with --tokenizer.from_model set to the other model"
        )
    if encoder.dimension != dimension:
        raise ModelError(
            f"{encoder.name} has {encoder.dimension} dimensions, but {name} has {dimension}"
        )


def _rotation(table: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix that best maps `table` onto `onto`."""
    product = np.zeros((table.shape[1], onto.shape[1]))
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        product += table[rows].astype(np.float64).T @ onto[rows].astype(np.float64)
    left, _, right = np.linalg.svd(product)
    return np.asarray(left @ right, np.float32)


def _size(table: np.ndarray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->", table, table, dtype=np.float64) / len(table)))
