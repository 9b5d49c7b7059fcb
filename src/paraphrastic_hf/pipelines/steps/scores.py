"""Steps that compare both sides by an encoder, and the translation score of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from paraphrastic_hf.config.recipe import Bounds, argument
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine, unit_length
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.mining.bitext import margin_score, neighbor_mean
from paraphrastic_hf.mining.neighbors import nearest
from paraphrastic_hf.mining.vectors import UnitRows
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, Row, Step, column, sides

AT_A_TIME = 1 << 12  # rows encoded at a time
POOL = 1 << 11  # minimum number of recent rows among which neighbors are searched


@dataclass(frozen=True, kw_only=True)
class EncoderStep(Step):
    """Base of steps that compute cosines with an encoder, which is loaded when first needed."""

    model: str = argument(
        "english", help="encoder: directory, packaged model or Hub name", names="model"
    )
    threads: int = argument(1, help="number of threads. Only averaging encoders use it", at_least=1)

    @property
    def limits(self) -> Bounds:
        return Bounds(-1, 1)

    def vectors_of(self, texts: Sequence[str]) -> np.ndarray:
        return checked_vectors(_loaded(self.model, self.threads).encode(texts), len(texts))

    def unit_vectors(self, texts: Sequence[str]) -> np.ndarray:
        return unit_length(self.vectors_of(texts).astype(np.float32, copy=False))


@lru_cache(maxsize=2)
def _loaded(model: str, threads: int) -> Any:
    return load_encoder(model, num_threads=threads)


@dataclass(frozen=True, kw_only=True)
class ParaphraseScore(EncoderStep):
    """Cosine of the embeddings of both sides. The thesis uses PARAGRAM-PHRASE (4.3.1)."""

    column: str = argument(
        "paraphrase_score", help="column of the score. Set it if several steps use encoders"
    )

    pattern = "{column}"

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return the cosine of each row, -1 to 1, or None if one of its texts is empty."""
        first, second = self._sides(rows)
        scores: list[float] = []
        for start in range(0, len(rows), AT_A_TIME):
            some = slice(start, start + AT_A_TIME)
            scores += self._scores(first[some], second[some]).tolist()
        return [
            score if a.strip() and b.strip() else None
            for score, a, b in zip(scores, first, second, strict=True)
        ]

    def _sides(self, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
        return sides(rows)

    def _scores(self, first: list[str], second: list[str]) -> np.ndarray:
        return pairwise_cosine(self.vectors_of(first), self.vectors_of(second)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class CrossLingualScore(ParaphraseScore):
    """Cosine of a sentence and its translation in the sources, or the margin of this cosine.

    The sides are `reference` and `source`, or `reference` and `translation` in a recipe without
    `translate`. Neighbors for the margin (`mining.bitext`) are searched among the distinct
    sentences of the latest rows, `POOL` to `AT_A_TIME` of them.
    """

    model: str = argument(
        "multilingual", help="encoder: directory, packaged model or Hub name", names="model"
    )
    column: str = argument("cross_lingual_score", help="column of the score")
    margin: str = argument(
        "none",
        help="divide the cosine by the mean cosine with neighbors (ratio), or subtract this mean "
        "(distance)",
        choices=("none", "ratio", "distance"),
    )
    k: int = argument(
        4, help="number of neighbors of each sentence, if the score has a margin", at_least=1
    )

    @property
    def limits(self) -> Bounds:
        return super().limits if self.margin == "none" else Bounds()

    def _sides(self, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
        if rows and SOURCE in rows[0]:
            return column(rows, REFERENCE), column(rows, SOURCE)
        return sides(rows)

    def _scores(self, first: list[str], second: list[str]) -> np.ndarray:
        vectors = self.vectors_of(first), self.vectors_of(second)
        cosines = pairwise_cosine(*vectors).astype(np.float64)
        if self.margin == "none":
            return cosines
        for side, texts, some in zip(self._recent, (first, second), vectors, strict=True):
            side.add(texts, some)
        rows = self._recent[0].distinct(), self._recent[1].distinct()
        found = nearest(rows[0], rows[1], self.k)
        source, target = (
            side.of_latest(each, neighbor_mean(near.scores), len(first))
            for side, each, near in zip(self._recent, rows, found, strict=True)
        )
        return margin_score(cosines, source, target, self.margin).astype(np.float64)

    @cached_property
    def _recent(self) -> tuple[_Recent, _Recent]:
        return _Recent(), _Recent()


class _Recent:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.vectors: np.ndarray | None = None

    def add(self, texts: list[str], vectors: np.ndarray) -> None:
        """Add sentences, and forget the oldest beyond `POOL`."""
        if self.vectors is not None:
            vectors = np.concatenate([self.vectors, vectors])
        forgotten = max(len(vectors) - max(POOL, len(texts)), 0)
        self.texts = [*self.texts, *texts][forgotten:]
        self.vectors = vectors[forgotten:]

    def distinct(self) -> UnitRows:
        """Return the vectors of the distinct sentences, each at the first index of its sentence."""
        assert self.vectors is not None
        self._first: dict[str, int] = {}
        for index, text in enumerate(self.texts):
            self._first.setdefault(text, index)
        return UnitRows(self.vectors, np.array(list(self._first.values())))

    def of_latest(self, rows: UnitRows, means: np.ndarray, count: int) -> np.ndarray:
        """Return the value of each of the latest `count` sentences, (count,)."""
        spread = np.zeros(len(self.texts))
        spread[rows.rows] = means
        return spread[[self._first[text] for text in self.texts[-count:]]]


@dataclass(frozen=True, kw_only=True)
class TranslationScore(Step):
    """Mean log-probability of the translation's tokens, in nats, from the engine, or None without
    scores. The 2017 paper uses bounds from `at_least: -0.2` to `at_least: -1`.
    """

    column: str = argument("translation_score", help="column of the engine's score")

    pattern = "{column}"

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        if any(self.column not in row for row in rows):
            raise DataError(
                f"The rows have no column {self.column!r}, which the engine writes in the step "
                "translate. Place translate before this step"
            )
        return [row[self.column] for row in rows]
