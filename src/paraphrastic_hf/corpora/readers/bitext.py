"""Builders of bitext: your own files, the OPUS corpora, CzEng, Gigaword, Multi30k, dictionaries.

A configuration is a pair of languages, and its columns are named by them. `bitext_files.py` reads
the formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, bitext
from paraphrastic_hf.corpora.filters import PairFilter, Sieve
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.bitext_files import Pairs, find_bitext
from paraphrastic_hf.corpora.readers.dictionaries import FREEDICT, dictionary_pairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import MAX_BAD_ROWS, good_rows, iterate_rows


@dataclass
class BitextConfig(datasets.BuilderConfig):
    """Options of bitext: `min_words=5, max_words=100` is the thesis's filter (5.6.2).

    `rejects` names a file for the pairs that the filter leaves out, with the reason of each.
    `bad_rows` is `skip` or `refuse`, and `max_bad_rows` the share of rows that may be skipped.
    """

    min_words: int | None = None
    max_words: int | None = None
    max_overlap: float | None = None
    rejects: str | None = None
    bad_rows: str = "skip"
    max_bad_rows: float = MAX_BAD_ROWS


class BitextCorpus(Corpus):
    """What bitext corpora share: language columns, the length filter, the count of bad rows."""

    BUILDER_CONFIG_CLASS = BitextConfig
    DEFAULT_WRITER_BATCH_SIZE = 10_000

    def languages(self) -> tuple[str, str]:
        """The two languages of the configuration, which must differ to name two columns."""
        first, _, second = self.config.name.partition("-")
        if not first or not second:
            raise DataError(
                f"{self.NAME} has no configuration {self.config.name!r}; it is two language codes, "
                "such as en-fr"
            )
        return (first, second) if first != second else (f"{first}1", f"{second}2")

    def features(self) -> datasets.Features:
        return bitext(*self.languages())

    def pairs(self, folder: Folder, split: str) -> Pairs:
        """Rows of the corpus as `io/pairs.py` reads them."""
        raise NotImplementedError

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        first, second = self.languages()
        options = self.config
        wanted = PairFilter(
            max_overlap=options.max_overlap,
            min_words=options.min_words,
            max_words=options.max_words,
        )
        rows, name = self.pairs(folder, split), f"{self.NAME} {options.name}"
        with Sieve(wanted, name=name, rejects=options.rejects) as sieve:
            good = good_rows(
                rows, name=name, bad_rows=options.bad_rows, max_bad_rows=options.max_bad_rows
            )
            for row in good:
                if sieve.keeps(row[0], row[1]):
                    yield {first: row[0], second: row[1]}


class FoundBitext(BitextCorpus):
    """Bitext in whatever format its folder, file or zip has; `bitext_files.py` says which."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        return find_bitext(folder, *self.config.name.split("-", 1))


class Bitext(FoundBitext):
    """Your own bitext: a TSV, two aligned text files, a TMX or an OPUS zip as `data_dir`."""

    NAME = "bitext"


class Opensubtitles2018(FoundBitext):
    """OpenSubtitles 2018 (thesis, 5.6.2)."""

    NAME = "opensubtitles2018"


class Opensubtitles2016(FoundBitext):
    """OpenSubtitles 2016 (thesis, 5.2.3)."""

    NAME = "opensubtitles2016"


class Europarl(FoundBitext):
    """Europarl (thesis, 5.13.1)."""

    NAME = "europarl"


class Tanzil(FoundBitext):
    """Tanzil, translations of the Quran (thesis, 5.13.1)."""

    NAME = "tanzil"


class Multiun(FoundBitext):
    """MultiUN (thesis, 5.13.1)."""

    NAME = "multiun"


class Setimes(FoundBitext):
    """SETIMES2, news of the Balkans (thesis, 7.4.1)."""

    NAME = "setimes"


class NewsCommentary(FoundBitext):
    """News Commentary (thesis, 7.4.1)."""

    NAME = "news_commentary"


class CzEng(BitextCorpus):
    """CzEng 1.6, its plain-text export (thesis, 4.3): identifier, score, Czech, English a line."""

    NAME = "czeng"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        for path in folder.files("**/*train.gz"):
            yield from iterate_rows(path, columns=("3", "4"))


class Gigaword(BitextCorpus):
    """The French-English 10^9 corpus (thesis, 5.6.2)."""

    NAME = "gigaword"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        stem = "giga-fren.release2.fixed"
        english, french = (
            folder.find(f"{stem}.{side}.gz", f"{stem}.{side}") for side in ("en", "fr")
        )
        return iterate_rows(english, second=french)


class Multi30k(BitextCorpus):
    """Multi30k task 1, raw captions with their translations."""

    NAME = "multi30k"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        stem = "val" if split == "validation" else split
        first, second = (
            folder.find(f"{stem}.{side}.gz", f"{stem}.{side}", f"task1/raw/{stem}.{side}.gz")
            for side in self.languages()
        )
        return iterate_rows(first, second=second)


class Freedict(BitextCorpus):
    """Words and phrases of FreeDict's dictionaries, each with each of its translations.

    Of languages a and b both the dictionary from a to b and that from b to a are read, whichever
    are there; a pair of words comes once.
    """

    NAME = "freedict"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        first, second = self.languages()
        unknown = [code for code in (first, second) if code not in FREEDICT]
        if unknown:
            raise DataError(
                f"freedict has no dictionaries of {unknown[0]!r}; its languages are "
                + ", ".join(FREEDICT)
            )
        forth, back = (
            f"freedict-{FREEDICT[a]}-{FREEDICT[b]}.index"
            for a, b in ((first, second), (second, first))
        )
        folder.find(forth, back)
        seen: set[tuple[str, ...]] = set()
        for name, languages in ((forth, (first, second)), (back, (second, first))):
            index = folder.find_or_none(name)
            for place, pair in dictionary_pairs(index, languages) if index else ():
                sides = pair if name == forth else pair[::-1]
                if tuple(sides) not in seen:
                    seen.add(tuple(sides))
                    yield place, sides
