"""Statistics of a corpus's text: length, rarity, paraphrase score, entropy (thesis, Table 25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import raw_lines, text_lines
from paraphrastic_hf.pipelines.steps.base import REFERENCE, Row
from paraphrastic_hf.syntax.parse_tree import normalized, read_tree, template

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation, both NaN for an empty sequence."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Mean:
        array = np.asarray(values, np.float64)
        if not len(array):
            return cls(math.nan, math.nan)
        return cls(float(array.mean()), float(array.std()))


@dataclass(frozen=True)
class Description:
    """Statistics of a corpus, a row of Table 25. Entropies and IDF are in nats."""

    rows: int
    length: Mean  # words per text, split at white space
    idf: Mean  # mean inverse document frequency of the words of a text
    paraphrase_score: Mean | None
    vocabulary_entropy: float
    parse_entropy: float | None  # of the top two levels of parses


class Idf:
    """Inverse document frequency: ln(number of documents / number of documents with the word), and
    for unknown words the highest value of all known words.
    """

    def __init__(self, counts: dict[str, int], documents: int) -> None:
        if not counts:
            raise DataError("The text has no words, so it gives no inverse document frequencies")
        self._idf = {word: math.log(documents / count) for word, count in counts.items()}
        self._rarest = max(self._idf.values())

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Idf:
        """Count document frequencies. Each text is a document."""
        counts: Counter[str] = Counter()
        number = 0
        for text in texts:
            counts.update(set(words_of(text)))
            number += 1
        return cls(counts, number)

    @classmethod
    def of_file(cls, path: str | Path) -> Idf:
        """Count document frequencies in a text file (also .gz, .xz). Each line is a document."""
        return cls.of_texts(line for _, line in text_lines(Path(path)))

    @classmethod
    def of_counts(cls, path: str | Path) -> Idf:
        """Read a file of words with counts. The IDF is then -ln p, the surprisal of a word."""
        counts: dict[str, int] = {}
        for number, raw in raw_lines(Path(path)):
            parts = raw.decode("utf-8", "replace").lower().rsplit(None, 1)
            word, count = parts if len(parts) == 2 else ("", "")
            if not count.isascii() or not count.isdigit() or int(count) < 1:
                raise DataError(f"{path}:{number} is not a word with a count: {raw[:40]!r}")
            counts[word.strip()] = counts.get(word.strip(), 0) + int(count)
        return cls(counts, sum(counts.values()))

    def of(self, text: str) -> float | None:
        """Return the mean IDF of the words of a text, or None if the text has no words."""
        found = [self._idf.get(word, self._rarest) for word in words_of(text)]
        return sum(found) / len(found) if found else None


def words_of(text: str) -> list[str]:
    """Return runs of letters and digits in a text, in lower case."""
    return WORD.findall(text.lower())


def entropy(counts: Iterable[int]) -> float:
    """Return the entropy, in nats, of the distribution with these counts, or 0 without any."""
    numbers = np.array([count for count in counts if count], np.float64)
    shares = numbers / numbers.sum() if len(numbers) else numbers
    return float(-(shares * np.log(shares)).sum() + 0.0)


def describe_corpus(
    rows: Sequence[Row],
    *,
    side: str = REFERENCE,
    idf: Idf | None = None,
    scores: Sequence[float | None] | None = None,
    parses: str | None = None,
) -> Description:
    """Compute the statistics of Table 25 on one side of rows. The thesis samples 100,000 rows and
    uses the `idf` of Wikipedia (default: of the texts). `parses` names the column with parses.
    """
    if not rows:
        raise DataError("The corpus has no rows to describe")
    texts = [row[side] or "" for row in rows]
    idf = idf or Idf.of_texts(texts)
    rarity = [value for text in texts if (value := idf.of(text)) is not None]
    counts = Counter(word for text in texts for word in words_of(text))
    known = None if scores is None else [score for score in scores if score is not None]
    return Description(
        rows=len(rows),
        length=Mean.of([len(text.split()) for text in texts]),
        idf=Mean.of(rarity),
        paraphrase_score=Mean.of(known) if known else None,
        vocabulary_entropy=entropy(counts.values()),
        parse_entropy=None if parses is None else _parse_entropy(rows, parses),
    )


def _parse_entropy(rows: Sequence[Row], column: str) -> float:
    trees = (normalized(read_tree(row[column])) for row in rows if row[column])
    counts = Counter(str(template(tree)) for tree in trees)
    if not counts:
        raise DataError(f"The column {column} contains no parses")
    return entropy(counts.values())
