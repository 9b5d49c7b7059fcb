"""Builders of English paraphrase corpora: ParaNMT, PPDB, SimpWiki."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, pair, scored_pair
from paraphrastic_hf.corpora.filters import PairFilter, Sieve, unique_word_pairs
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import aligned_lines, number_in, table_rows, text_lines
from paraphrastic_hf.io.pairs import MAX_BAD_ROWS, good_rows, iterate_rows

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
        return PairFilter(
            max_overlap=self.max_overlap, min_words=self.min_words, max_words=self.max_words
        )

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

    def wanted(self) -> PairFilter:
        return replace(super().wanted(), min_score=self.min_score, max_score=self.max_score)


@dataclass
class BadRowsConfig(datasets.BuilderConfig):
    """`bad_rows` is `skip` or `refuse`. `max_bad_rows` is the largest share to skip, 0 to 1."""

    bad_rows: str = "skip"
    max_bad_rows: float = MAX_BAD_ROWS


@dataclass
class ParaNmtConfig(ScoreFilterConfig, BadRowsConfig):
    """Options of ParaNMT."""


class ParaNmt(Corpus):
    """ParaNMT-50M (thesis, 4.3): `sentence1` is the reference, `sentence2` the back-translation.

    `score` is the paraphrase score, a cosine. The 5M release lacks scores.
    """

    NAME = "paranmt"
    BUILDER_CONFIG_CLASS = ParaNmtConfig
    DEFAULT_WRITER_BATCH_SIZE = 10_000

    def features(self) -> datasets.Features:
        return scored_pair() if self.config.name == "50m" else pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        has_scores = self.config.name == "50m"
        if has_scores:
            path = folder.find("para-nmt-50m.txt", "para-nmt-50m.txt.gz", "para-nmt-50m.txt.xz")
        else:
            path = folder.find("para-nmt-5m-processed.txt", "para-nmt-5m-processed.txt.gz")
        wanted = self.config.wanted()
        if not has_scores and (wanted.min_score, wanted.max_score) != (None, None):
            raise DataError("paranmt 5m has no scores. Omit min_score and max_score, or use 50m")
        rows = good_rows(
            iterate_rows(path, columns=("1", "2"), beside=("3",) if has_scores else ()),
            name=str(path),
            number=2 if has_scores else None,
            bad_rows=self.config.bad_rows,
            max_bad_rows=self.config.max_bad_rows,
        )
        with self.config.sieve(f"paranmt {self.config.name}") as sieve:
            for row in rows:
                score = float(row[2]) if has_scores else None
                if sieve.keeps(row[0], row[1], score):
                    kept = {"sentence1": row[0], "sentence2": row[1]}
                    yield kept if score is None else {**kept, "score": score}


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

    NAME = "ppdb"
    BUILDER_CONFIG_CLASS = PpdbConfig
    DEFAULT_WRITER_BATCH_SIZE = 10_000
    FEATURES = scored_pair(syntax=TEXT, entailment=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterable[Row]:
        name = f"ppdb-{self.config.name}"
        path = folder.find(f"{name}.gz", name, f"{name}.txt")
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


def _word_pairs(rows: Iterable[Row], wanted: bool, vocabulary: str | None) -> Iterable[Row]:
    if vocabulary is not None and not wanted:
        raise DataError("vocabulary only filters word pairs. Set word_pairs=True too")
    return _unique(rows, vocabulary) if wanted else rows


def _unique(rows: Iterable[Row], vocabulary: str | None) -> Iterator[Row]:
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
    NAME = "ppdb_synonyms"
    BUILDER_CONFIG_CLASS = WordPairsConfig
    FEATURES = pair()

    def rows(self, folder: Folder, split: str) -> Iterable[Row]:
        path = folder.find("ppdb-1.0-xxxl-lexical.extended.synonyms.uniquepairs")
        rows = ({"sentence1": a, "sentence2": b} for _, (a, b, *_) in table_rows(path, 2))
        return _word_pairs(rows, self.config.word_pairs, self.config.vocabulary)


class SimpWiki(Corpus):
    """Simple and standard Wikipedia (2017 paper, section 4): `sentence1` is the standard side.

    `v2` is the larger release, with article titles. `v1` has splits.
    """

    NAME = "simpwiki"
    BUILDER_CONFIG_CLASS = TextFilterConfig

    def features(self) -> datasets.Features:
        return pair(article=TEXT) if self.config.name == "v2" else pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        has_splits = self.config.name == "v1"
        with self.config.sieve("simpwiki", split if has_splits else None) as sieve:
            for row in self._rows_of_v1(folder, split) if has_splits else self._rows_of_v2(folder):
                if sieve.keeps(*_sides(row)):
                    yield row

    def _rows_of_v1(self, folder: Folder, split: str) -> Iterator[Row]:
        stem = {"train": "training", "validation": "tuning", "test": "testing"}[split]
        files = (folder.find(f"normal.{stem}.txt"), folder.find(f"simple.{stem}.txt"))
        for _, normal, simple in aligned_lines(*files):
            yield {"sentence1": normal, "sentence2": simple}

    def _rows_of_v2(self, folder: Folder) -> Iterator[Row]:
        files = (folder.find("normal.aligned"), folder.find("simple.aligned"))
        for number, normal, simple in aligned_lines(*files):
            sides = normal.split("\t"), simple.split("\t")
            if min(map(len, sides)) < 3:
                raise DataError(
                    f"{files[0]}:{number} or the same line of {files[1].name} has fewer than 3 "
                    "columns. Expected article, paragraph and sentence, separated by tabs"
                )
            yield {"sentence1": sides[0][2], "sentence2": sides[1][2], "article": sides[0][0]}
