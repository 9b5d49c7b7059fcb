"""Builders of English paraphrase corpora: ParaNMT, PPDB, SimpWiki."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, pair, scored_pair
from paraphrastic_hf.corpora.filters import PairFilter, Sieve, unique_word_pairs
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.bitext_files import Pairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import (
    MAX_BAD_ROWS,
    aligned_lines,
    number_in,
    table_rows,
    text_lines,
)
from paraphrastic_hf.io.pairs import good_rows, iterate_rows

BARS = " ||| "
_FEATURE = re.compile(r"(\S+)=(\S+)")


@dataclass
class TextFilterConfig(datasets.BuilderConfig):
    """Options of `PairFilter` for texts. Rejected pairs are written to the file `rejects`."""

    max_overlap: float | None = None
    min_words: int | None = None
    max_words: int | None = None
    rejects: str | None = None

    def wanted(self) -> PairFilter:
        names = [field.name for field in fields(PairFilter) if hasattr(self, field.name)]
        return PairFilter(**{name: getattr(self, name) for name in names})

    def sieve(self, name: str, split: str | None = None) -> Sieve:
        """Return a `Sieve` with these options. Each split has its own file of rejected pairs."""
        rejects = None if self.rejects is None else Path(self.rejects)
        if rejects is not None and split is not None:
            rejects = rejects.with_stem(f"{rejects.stem}-{split}")
        return Sieve(self.wanted(), name=name, rejects=rejects)


@dataclass
class ScoreFilterConfig(TextFilterConfig):
    """Options of a corpus whose rows can also be filtered by score."""

    min_score: float | None = None
    max_score: float | None = None


@dataclass
class BadRowsConfig(datasets.BuilderConfig):
    """`bad_rows` is `skip` or `refuse`. `max_bad_rows` is the largest share to skip, 0 to 1."""

    bad_rows: str = "skip"
    max_bad_rows: float = MAX_BAD_ROWS


@dataclass
class ParaNmtConfig(ScoreFilterConfig, BadRowsConfig):
    """Options of ParaNMT."""


class FilteredPairs(Corpus):
    """Base of corpora of pairs with options that filter rows and count bad rows."""

    DEFAULT_WRITER_BATCH_SIZE = 10_000

    def pairs(self, folder: Folder, split: str) -> Pairs:
        """Yield `(place, texts)` or `(place, reason)` for each row, as in `io/pairs.py`."""
        raise NotImplementedError

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        options, columns = self.config, list(self.features())
        name = f"{self.source.name} {options.name}"
        has_scores = "score" in columns
        rows = good_rows(
            self.pairs(folder, split),
            name=name,
            number=2 if has_scores else None,
            bad_rows=options.bad_rows,
            max_bad_rows=options.max_bad_rows,
        )
        with options.sieve(name) as sieve:
            for first, second, *scores in rows:
                values = first, second, *map(float, scores)
                if sieve.keeps(*values):
                    yield dict(zip(columns, values, strict=True))


class ParaNmt(FilteredPairs):
    """ParaNMT-50M (thesis, 4.3): `sentence1` is the reference, `sentence2` the back-translation.

    `score` is the paraphrase score, a cosine. The 5M release lacks scores.
    """

    BUILDER_CONFIG_CLASS = ParaNmtConfig

    def features(self) -> datasets.Features:
        return scored_pair() if self.config.name == "50m" else pair()

    def pairs(self, folder: Folder, split: str) -> Pairs:
        has_scores = self.config.name == "50m"
        if not has_scores and (self.config.min_score, self.config.max_score) != (None, None):
            raise DataError("paranmt 5m has no scores. Omit min_score and max_score, or use 50m")
        beside = ("3",) if has_scores else ()
        return iterate_rows(self.find(folder, split), columns=("1", "2"), beside=beside)


@dataclass
class WordPairsConfig(datasets.BuilderConfig):
    """`word_pairs` keeps only unique pairs of single words.

    If `vocabulary` is given, both words must be in this file, whose lines start with a word.
    """

    word_pairs: bool = False
    vocabulary: str | None = None


@dataclass
class PpdbConfig(ScoreFilterConfig, WordPairsConfig):
    """Options of PPDB."""


class Ppdb(Corpus):
    """PPDB 1.0 and 2.0 (thesis, 2.2.1): phrases, score, syntactic label, entailment.

    `score` is the PPDB 2.0 score, or log p(e|f) + log p(f|e) for PPDB 1.0. Higher scores are
    better. Rows keep the file's order, best first. `word_pairs=True` gives the training pairs of
    3.5.2.
    """

    BUILDER_CONFIG_CLASS = PpdbConfig
    DEFAULT_WRITER_BATCH_SIZE = 10_000
    FEATURES = scored_pair(syntax=TEXT, entailment=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterable[Row]:
        path = self.find(folder, split)
        with self.config.sieve(f"ppdb {self.config.name}") as sieve:
            rows = (row for row in _ppdb_rows(path) if sieve.keeps(*_sides(row), row["score"]))
            yield from _word_pairs(rows, self.config.word_pairs, self.config.vocabulary)


def _sides(row: Row) -> tuple[str, str]:
    return row["sentence1"], row["sentence2"]


def _ppdb_rows(path: Path) -> Iterator[Row]:
    for number, row in table_rows(path, 4, separator=BARS):
        features = dict(_FEATURE.findall(row[3]))
        place = f"{path}:{number}"
        if "PPDB2.0Score" in features:
            score = number_in(features["PPDB2.0Score"], place)
        elif "p(e|f)" in features and "p(f|e)" in features:
            score = -sum(number_in(features[name], place) for name in ("p(e|f)", "p(f|e)"))
        else:
            raise DataError(
                f"{place} has neither PPDB2.0Score nor p(e|f) and p(f|e): {row[3][:80]!r}"
            )
        yield {
            "sentence1": row[1].strip(),
            "sentence2": row[2].strip(),
            "score": score,
            "syntax": row[0].strip(),
            "entailment": row[5].strip() if len(row) > 5 else None,
        }


def _word_pairs(rows: Iterable[Row], wanted: bool, vocabulary: str | None) -> Iterator[Row]:
    if vocabulary is not None and not wanted:
        raise DataError("vocabulary only filters word pairs. Set word_pairs=True too")
    if not wanted:
        yield from rows
        return
    words = None
    if vocabulary is not None:
        words = frozenset(
            line.split()[0] for _, line in text_lines(Path(vocabulary)) if line.split()
        )
    by_pair: dict[tuple[str, str], Row] = {}
    for row in rows:
        if not any(" " in side for side in _sides(row)):
            by_pair.setdefault(_sides(row), row)
    for sides in unique_word_pairs(by_pair, words):
        yield by_pair[sides]


class PpdbSynonyms(Corpus):
    BUILDER_CONFIG_CLASS = WordPairsConfig
    FEATURES = pair()

    def rows(self, folder: Folder, split: str) -> Iterable[Row]:
        path = self.find(folder, split)
        rows = ({"sentence1": a, "sentence2": b} for _, (a, b, *_) in table_rows(path, 2))
        return _word_pairs(rows, self.config.word_pairs, self.config.vocabulary)


class SimpWiki(Corpus):
    """Simple and standard Wikipedia (2017 paper, section 4): `sentence1` is the standard side.

    `v2` is the larger release, with article titles. `v1` has splits.
    """

    BUILDER_CONFIG_CLASS = TextFilterConfig

    def features(self) -> datasets.Features:
        return pair(article=TEXT) if self.config.name == "v2" else pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        has_splits = self.config.name == "v1"
        with self.config.sieve("simpwiki", split if has_splits else None) as sieve:
            for row in self._aligned(folder, split) if has_splits else self._articles(folder):
                if sieve.keeps(*_sides(row)):
                    yield row

    def _aligned(self, folder: Folder, split: str) -> Iterator[Row]:
        first, second = (self.find(folder, split, side=side) for side in ("normal", "simple"))
        for _, normal, simple in aligned_lines(first, second):
            yield {"sentence1": normal, "sentence2": simple}

    def _articles(self, folder: Folder) -> Iterator[Row]:
        files = (folder.find("normal.aligned"), folder.find("simple.aligned"))
        for number, normal, simple in aligned_lines(*files):
            sides = normal.split("\t"), simple.split("\t")
            if min(map(len, sides)) < 3:
                raise DataError(
                    f"{files[0]}:{number} or the same line of {files[1].name} has fewer than 3 "
                    "columns. Expected article, paragraph and sentence, separated by tabs"
                )
            yield {"sentence1": sides[0][2], "sentence2": sides[1][2], "article": sides[0][0]}
