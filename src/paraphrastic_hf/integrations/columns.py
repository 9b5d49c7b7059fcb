"""Encoding of Arrow columns in the processes of a cluster."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import check_dtype

if TYPE_CHECKING:
    import pyarrow as pa

load = functools.cache(SentenceEncoder.from_pretrained)  # each process loads a model once


@dataclass(frozen=True)
class ColumnEncoder:
    """Function from a column of texts to a column of embeddings. A pickle has no model."""

    model: str = "english"  # each machine must find it
    dtype: str = "float32"  # or float16 or int8, as in `SentenceEncoder.encode_arrow`
    dimension: int | None = None  # leading dimensions to keep (default: all)
    normalize_embeddings: bool = True
    num_threads: int = 1  # clusters start one process per core

    def __post_init__(self) -> None:
        check_dtype(self.dtype)

    @property
    def encoder(self) -> SentenceEncoder:
        return load(self.model, num_threads=self.num_threads)

    @property
    def width(self) -> int:
        """Length of the embeddings."""
        return self.dimension or self.encoder.dimension

    def __call__(self, texts: Any) -> pa.FixedSizeListArray:
        return self.encoder.encode_arrow(
            texts,
            dtype=self.dtype,
            dimension=self.dimension,
            normalize_embeddings=self.normalize_embeddings,
        )

    def of_list(self, texts: list[str]) -> np.ndarray:
        """Return the embeddings of Python strings, (texts, width) float32."""
        vectors: np.ndarray = self.encoder.encode(
            texts, truncate_dim=self.dimension, normalize_embeddings=self.normalize_embeddings
        )
        return vectors
