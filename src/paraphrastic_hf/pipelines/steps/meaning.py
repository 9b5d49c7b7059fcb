"""Steps that leave out texts near earlier texts, or near the texts of other files, by cosine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import DataError, RecipeError, counted
from paraphrastic_hf.io.texts import every_text
from paraphrastic_hf.mining.search import highest_cosines
from paraphrastic_hf.mining.tiles import TILE
from paraphrastic_hf.pipelines.steps.base import (
    REFERENCE,
    SOURCE,
    TRANSLATION,
    Row,
    column,
)
from paraphrastic_hf.pipelines.steps.duplicates import COMPARED, PAIR
from paraphrastic_hf.pipelines.steps.scores import EncoderStep

ALL = "all"
# a character of a script without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese), or a word
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")


@dataclass(frozen=True, kw_only=True)
class SemanticDuplicates(EncoderStep):
    """Cosine of a text with the nearest earlier text, in all tasks of a corpus.

    Earlier texts include those that this step rejects, but not those that earlier steps reject. The
    search is exact, and its time grows with the square of the number of rows. With `of: pair`, the
    score is the mean of the cosines of the first sides and of the second sides.
    """

    at_most: float | None = argument(0.9, help="highest score of rows to keep")
    of: str = argument(REFERENCE, help="text to compare: one side, or both", choices=COMPARED)

    @cached_property
    def _earlier(self) -> list[np.ndarray]:
        return []

    measure = "cosine with an earlier {of}"

    @property
    def name(self) -> str:
        return "semantic_duplicate" if self.of == PAIR else f"semantic_duplicate_{self.of}"

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return None if the text is blank or no text is earlier."""
        return self.compare(self.vectors(rows))

    def vectors(self, rows: Sequence[Row]) -> np.ndarray:
        """Return the vector of each row, of length 1, or 0 if it has no text, (rows, dim)."""
        sides = (REFERENCE, TRANSLATION) if self.of == PAIR else (self.of,)
        found = [self.unit_vectors(column(rows, side)) for side in sides]
        return np.asarray(np.concatenate(found, axis=1) / np.float32(len(sides) ** 0.5))

    def remember(self, vectors: np.ndarray) -> None:
        """Add earlier texts, given their `vectors`, which may be memory-mapped."""
        if len(vectors):
            self._earlier.append(vectors)

    def compare(self, vectors: np.ndarray) -> list[float | None]:
        """Score rows by their `vectors`, then remember them."""
        best = np.full(len(vectors), -np.inf, np.float32)
        for start in range(0, len(vectors), TILE):
            own = vectors[start : start + TILE]
            for others in self._earlier:
                highest = highest_cosines(own, others)
                np.maximum(best[start : start + TILE], highest, out=best[start : start + TILE])
            within = own @ own.T
            within[np.triu_indices(len(own))] = -np.inf  # the text itself, and later texts
            highest = np.minimum(within.max(1, initial=-np.inf), 1)
            np.maximum(best[start : start + TILE], highest, out=best[start : start + TILE])
            self.remember(own)
        best[~vectors.any(1)] = -np.inf
        return [None if cosine == -np.inf else cosine for cosine in best.tolist()]


@dataclass(frozen=True, kw_only=True)
class Exclude(EncoderStep):
    """Cosine of a row with the nearest text of other files, such as test sets, or 1 for a text that
    equals one of these texts except for case, punctuation and white space.
    """

    at_most: float | None = argument(0.8, help="highest score of rows to keep")
    paths: list[str] = argument(
        help="files or folders with the texts to exclude, relative to the data root"
    )
    of: str = argument(
        ALL,
        help="text of a row to compare with the excluded texts. all: the highest cosine counts",
        choices=(ALL, REFERENCE, TRANSLATION, SOURCE),
    )
    min_words: int = argument(
        4,
        help="ignore shorter texts of these files. In scripts without spaces, a character counts "
        "as a word",
        at_least=1,
    )

    pattern = "excluded"
    measure = "cosine with an excluded text"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.paths:
            raise RecipeError("paths must name at least one file or folder, got []")

    def located(self, data_root: str | Path | None) -> Exclude:
        from paraphrastic_hf.training.engine.paths import resolve_path  # not in the core

        found = [str(resolve_path(path, data_root).absolute()) for path in self.paths]
        return replace(self, paths=found)

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        """Return each cosine, -1 to 1, or None if all compared sides are blank."""
        if not rows:
            return []
        arguments = tuple(self.paths), self.min_words, self.model, self.threads
        known, others = _excluded(*arguments)  # shared by the tasks of a process
        sides = [REFERENCE, TRANSLATION, SOURCE] if self.of == ALL else [self.of]
        best = np.full(len(rows), -np.inf, np.float32)
        for side in sides:
            if self.of == ALL and side not in rows[0]:
                continue
            texts = column(rows, side)
            cosines = highest_cosines(self.unit_vectors(texts), others)
            cosines[[normalized(text) in known for text in texts]] = 1
            cosines[[not text.strip() for text in texts]] = -np.inf
            np.maximum(best, cosines, out=best)
        return [None if cosine == -np.inf else cosine for cosine in best.tolist()]


def normalized(text: str) -> str:
    """Return the words of a text in lower case, such as `don t stop` or `你 好`."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


@lru_cache(maxsize=2)
def _excluded(
    paths: tuple[str, ...], min_words: int, model: str, threads: int
) -> tuple[frozenset[str], np.ndarray]:
    """Return the distinct normalized texts of files, and their vectors, (texts, dim)."""
    texts: dict[str, str] = {}
    for path in paths:
        found = {normalized(text): text for text in every_text(Path(path))}
        found = {key: text for key, text in found.items() if len(key.split()) >= min_words}
        if not found:
            raise DataError(f"{path} contains no text of at least {counted(min_words, 'word')}")
        texts |= found
    encoder = EncoderStep(model=model, threads=threads)
    return frozenset(texts), encoder.unit_vectors(list(texts.values()))
