"""Several averaging models of one vocabulary made one, of the size of each.

What training does not settle in a table is noise of its random start and of the order of its
batches. It differs from run to run, so that it shrinks in a mean. Two runs differ by a rotation as
well, which changes no cosine and is undone first (orthogonal Procrustes).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer

BLOCK = 65_536  # rows whose products are summed at a time
LEAST = 1e-30  # that anything is divided by


def merged(encoders: Sequence[SentenceEncoder]) -> SentenceEncoder:
    """The mean of averaging models that cut texts alike, each turned onto those before it.

    No paper has it. It costs nothing when the model is used (what it gains: recipes/default, "Two
    runs made one"). The axes are about those of the first, so that its leading dimensions stay good
    models.

    Args:
        encoders: One or more, the same vocabulary and dimension in all. They have best not been
            rounded: the packaged ones have been.

    Returns:
        An encoder with the tokenizer of the first.

    Raises:
        ModelError: One is no averaging model, or has another vocabulary or dimension.
        ValueError: There are none.

    Example:
        >>> runs = ["runs/one", "runs/two"]
        >>> both = merged([SentenceEncoder.from_pretrained(run) for run in runs])  # doctest: +SKIP
        >>> both.save_pretrained("runs/both", precision="int4")  # doctest: +SKIP
    """
    if not encoders:
        raise ValueError("encoders must be one or more, got none")
    first = encoders[0]
    for other in encoders:
        check_alike(other, first.tokenizer, first.dimension, str(first.name))
    found = SentenceEncoder.from_table(
        merged_table([_rows(encoder) for encoder in encoders]),
        first.tokenizer,
        name=first.name,
        num_threads=first.num_threads,
    )
    found.origin = first.origin
    found.model_card_data.base_model = first.name
    return found


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
            f"{other.vocab_size:,} entries): train it with --tokenizer.of and the name of the other"
        )
    if encoder.dimension != dimension:
        raise ModelError(
            f"{encoder.name} has {encoder.dimension} dimensions and {name} {dimension}: merge "
            "models of one size"
        )


def _rows(encoder: SentenceEncoder) -> np.ndarray:
    rows = encoder.table()
    assert rows is not None  # check_alike
    return rows


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
