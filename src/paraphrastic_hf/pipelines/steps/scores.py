"""Steps for the paraphrase score of an encoder and the translation score of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.steps.base import Row, Step, sides

AT_A_TIME = 1 << 12  # rows encoded at a time


@lru_cache(maxsize=2)
def _loaded(model: str, threads: int) -> Any:
    return load_encoder(model, num_threads=threads)


@dataclass(frozen=True, kw_only=True)
class ParaphraseScore(Step):
    """Cosine of the embeddings of both sides. The thesis uses PARAGRAM-PHRASE (4.3.1).

    Attributes:
        model: Any encoder that `load_encoder` takes. It is loaded when first needed.
        column: Column of the score. Must be set if several steps use encoders.

    Example:
        >>> row = {"reference": "a cat sleeps", "translation": "the cat is asleep"}
        >>> ParaphraseScore().score([row])[0] > 0.5
        True
    """

    model: str = argument(
        "english", help="encoder: directory, packaged model or Hub name", names="model"
    )
    column: str = argument("paraphrase_score", help="column of the score")
    threads: int = argument(1, help="number of threads, for averaging encoders", at_least=1)

    @property
    def name(self) -> str:
        return self.column

    @property
    def measure(self) -> str:
        return self.column.replace("_", " ")

    @cached_property
    def _encoder(self) -> Any:
        return _loaded(self.model, self.threads)

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return the cosine of each row, -1 to 1, or None if a side is empty."""
        first, second = sides(rows)
        cosines: list[float] = []
        for start in range(0, len(rows), AT_A_TIME):
            some = slice(start, start + AT_A_TIME)
            cosines += self._cosines(first[some], second[some]).tolist()
        return [
            cosine if a.strip() and b.strip() else None
            for cosine, a, b in zip(cosines, first, second, strict=True)
        ]

    def _cosines(self, first: list[str], second: list[str]) -> np.ndarray:
        vectors = (
            checked_vectors(self._encoder.encode(side), len(side)) for side in (first, second)
        )
        return pairwise_cosine(*vectors).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class TranslationScore(Step):
    """Mean log-probability of the translation's tokens, in nats, from the engine (at most 0).

    The 2017 paper uses bounds from `at_least: -0.2` to `at_least: -1`.

    Example:
        >>> TranslationScore(at_least=-0.5).score([{"translation_score": -0.4}])
        [-0.4]
    """

    column: str = argument("translation_score", help="column of the engine's score")

    @property
    def name(self) -> str:
        return self.column

    @property
    def measure(self) -> str:
        return self.column.replace("_", " ")

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return the engine's score of each row, or None for engines without scores."""
        if any(self.column not in row for row in rows):
            raise DataError(
                f"The rows have no column {self.column!r}, which the engine writes in the step "
                "translate. Place translate before this step"
            )
        return [row[self.column] for row in rows]
