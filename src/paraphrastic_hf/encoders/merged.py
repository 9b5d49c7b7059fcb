"""The mean of the tables of several runs over one vocabulary, for `finish.merge_with`.

The packaged model `multilingual` is such a mean of four runs (recipes/default, "Two runs made
one"), which is why merging is kept. What training does not settle in a table is noise: it differs
from run to run and shrinks in a mean. Two runs also differ by a rotation, which changes no cosine
and is undone first (orthogonal Procrustes).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer

BLOCK = 65_536  # rows whose products are summed at a time
LEAST = 1e-30  # that anything is divided by


def merged_table(tables: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of tables, each turned by the rotation that brings its rows nearest to those of the
    mean of the ones before it, and counted alike whatever its scale.

    A row that the runs disagree on would be short in the mean, and its token count for less than in
    any of them. So every row has the mean length that it has in the tables, and the mean decides
    where it points.

    Args:
        tables: One or more, (vocab, dim), the same shape in all.

    Returns:
        (vocab, dim) float32, in the scale of the first (root mean square of its rows' lengths).
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
    """Refuse an encoder that cannot be merged with another.

    Args:
        encoder: The encoder.
        tokenizer: The other's tokenizer.
        dimension: The other's dimension.
        name: What the other is called.

    Raises:
        ModelError: It is no averaging model, or has another vocabulary or dimension.
    """
    if encoder.table(slice(0, 0)) is None:
        raise ModelError(f"{encoder.name} is no average, and only averages are merged")
    own, other = encoder.tokenizer, tokenizer
    if own.lowercase != other.lowercase or own.tokens() != other.tokens():
        raise ModelError(
            f"{encoder.name} has another vocabulary than {name} ({own.vocab_size:,} and "
            f"{other.vocab_size:,} entries): train it with "
            "--tokenizer.from_model and the name of the other"
        )
    if encoder.dimension != dimension:
        raise ModelError(
            f"{encoder.name} has {encoder.dimension} dimensions and {name} {dimension}: merge "
            "models of one size"
        )


def _rotation(table: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """The rotation, reflections included, by which `table` comes nearest to `onto`."""
    product = np.zeros((table.shape[1], onto.shape[1]))
    for start in range(0, len(table), BLOCK):
        rows = slice(start, start + BLOCK)
        product += table[rows].astype(np.float64).T @ onto[rows].astype(np.float64)
    left, _, right = np.linalg.svd(product)
    return np.asarray(left @ right, np.float32)


def _size(table: np.ndarray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->", table, table, dtype=np.float64) / len(table)))
