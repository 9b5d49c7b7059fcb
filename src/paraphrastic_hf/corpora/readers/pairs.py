"""Builders of pairs: ParaNMT, PPDB, SimpWiki, and bitext (your own files, OPUS, dictionaries).

A configuration of bitext is a pair of languages, which are also the names of the columns.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, bitext, pair, scored_pair
from paraphrastic_hf.corpora.filters import PairFilter, Sieve, unique_word_pairs
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.bitext_files import Pairs, find_bitext
from paraphrastic_hf.corpora.readers.dictionaries import dictionary_pairs
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


class Filtered(Corpus):
    """Base of corpora of pairs with options that filter rows."""

    DEFAULT_WRITER_BATCH_SIZE = 10_000

    def every_row(self, folder: Folder, split: str) -> Iterable[Row]:
        """Yield the rows of one split, before they are filtered."""
        raise NotImplementedError

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        first, second, *_ = self.features()
        has_splits = len(self.source.configs.get(self.config.name, ())) > 1
        with self.config.sieve(self.title, split if has_splits else None) as sieve:
            for row in self.every_row(folder, split):
                if sieve.keeps(row[first], row[second], row.get("score")):
                    yield row

    @property
    def title(self) -> str:
        return f"{self.source.name} {self.config.name}"


class FilteredPairs(Filtered):
    """Base of corpora of pairs with options that also count bad rows."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        """Yield `(place, texts)` or `(place, reason)` for each row, as in `io/pairs.py`."""
        raise NotImplementedError

    def every_row(self, folder: Folder, split: str) -> Iterator[Row]:
        options, columns = self.config, list(self.features())
        rows = good_rows(
            self.pairs(folder, split),
            name=self.title,
            number=2 if "score" in columns else None,
            bad_rows=options.bad_rows,
            max_bad_rows=options.max_bad_rows,
        )
        for first, second, *scores in rows:
            yield dict(zip(columns, (first, second, *map(float, scores)), strict=True))


class ParaNmt(FilteredPairs):
    """ParaNMT-50M (thesis, 4.3): reference, back-translation and cosine (not in the 5M release)."""

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
    """`word_pairs` keeps unique pairs of words. They must start lines of `vocabulary`, if given."""

    word_pairs: bool = False
    vocabulary: str | None = None


@dataclass
class PpdbConfig(ScoreFilterConfig, WordPairsConfig):
    """Options of PPDB."""


class Ppdb(Filtered):
    """PPDB 1.0 and 2.0 (thesis, 2.2.1): phrases, score, syntactic label, entailment, best first.

    `score` is the PPDB 2.0 score, or log p(e|f) + log p(f|e) for PPDB 1.0. `word_pairs=True` gives
    the training pairs of 3.5.2.
    """

    BUILDER_CONFIG_CLASS = PpdbConfig
    FEATURES = scored_pair(syntax=TEXT, entailment=TEXT)

    def every_row(self, folder: Folder, split: str) -> Iterator[Row]:
        return _ppdb_rows(self.find(folder, split))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        rows = super().rows(folder, split)
        return _word_pairs(rows, self.config.word_pairs, self.config.vocabulary)


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


class SimpWiki(Filtered):
    """Standard and simple Wikipedia (2017 paper, section 4): `v2` has article titles."""

    BUILDER_CONFIG_CLASS = TextFilterConfig

    def features(self) -> datasets.Features:
        return pair(article=TEXT) if self.config.name == "v2" else pair()

    def every_row(self, folder: Folder, split: str) -> Iterator[Row]:
        is_aligned = self.config.name == "v1"
        return self._aligned(folder, split) if is_aligned else self._articles(folder)

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


@dataclass
class BitextConfig(TextFilterConfig, BadRowsConfig):
    """Options of bitext. The thesis filters with `min_words=5, max_words=100` (5.6.2)."""


class Bitext(FilteredPairs):
    """Bitext in a TSV, two aligned text files, a TMX or an OPUS zip. Others override `pairs`."""

    BUILDER_CONFIG_CLASS = BitextConfig

    def languages(self) -> tuple[str, str]:
        """Return the names of the two columns: the languages, numbered if they are equal."""
        first, second = self.config.name.split("-")
        return (first, second) if first != second else (f"{first}1", f"{second}2")

    def features(self) -> datasets.Features:
        return bitext(*self.languages())

    def pairs(self, folder: Folder, split: str) -> Pairs:
        return find_bitext(folder, *self.config.name.split("-"))


class AlignedBitext(Bitext):
    """Bitext in two aligned files of known names."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        first, second = (self.find(folder, split, side=side) for side in self.languages())
        return iterate_rows(first, second=second)


class CzEng(Bitext):
    """CzEng 1.6 as plain text (thesis, 4.3). Each line has identifier, score, Czech, English."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        for path in folder.files("**/*train.gz"):
            yield from iterate_rows(path, columns=("3", "4"))


class Freedict(Bitext):
    """Words and phrases of FreeDict's dictionaries in both directions, without repeated pairs."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        languages, known = self.languages(), self.source.layout["codes"]
        unknown = [code for code in languages if code not in known]
        if unknown:
            raise DataError(f"freedict lacks {unknown[0]!r}. Choose from {', '.join(known)}")
        codes = [known[code] for code in languages]
        scripts = [self.source.layout["scripts"].get(code, "LATIN") for code in languages]
        forth, back = (f"freedict-{a}-{b}.index" for a, b in (codes, codes[::-1]))
        folder.find(forth, back)
        seen: set[tuple[str, ...]] = set()
        for name, order in ((forth, scripts), (back, scripts[::-1])):
            index = folder.find_or_none(name)
            for place, found in dictionary_pairs(index, order) if index else ():
                sides = found if name == forth else found[::-1]
                if tuple(sides) not in seen:
                    seen.add(tuple(sides))
                    yield place, sides
