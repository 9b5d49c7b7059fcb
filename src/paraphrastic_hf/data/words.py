"""Word vectors in GloVe's text format: a word and its numbers a line (PARAGRAM, ParaNMT, GloVe)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

import numpy as np

from paraphrastic_hf.data.lines import open_lines
from paraphrastic_hf.errors import DataError


def read_vectors(
    path: str | Path, *, wanted: Container[str], dimension: int
) -> Iterator[tuple[str, np.ndarray]]:
    """The vectors of wanted words, each (dimension,) float32, in file order.

    A first line of two numbers (word2vec's count and dimension) is passed over.

    Args:
        path: Text file, .gz or .xz.
        wanted: Words to give back.
        dimension: Numbers a vector must have.

    Raises:
        DataError: A wanted word's line has another dimension or holds what is no number.
    """
    with open_lines(Path(path)) as lines:
        for number, raw in enumerate(lines, 1):
            word, *values = raw.decode("utf-8", "replace").rstrip().split(" ")
            if word not in wanted or (number == 1 and len(values) == 1):
                continue
            if len(values) != dimension:
                raise DataError(
                    f"{path}:{number} has {len(values)} numbers for {word!r}, but the model has "
                    f"{dimension} dimensions; set model.hidden_size to {len(values)}"
                )
            try:
                yield word, np.array(values, np.float32)
            except ValueError as error:
                raise DataError(f"{path}:{number} holds what is no number: {error}") from error
