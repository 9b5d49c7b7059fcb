"""Builders of bitext: your own files, the OPUS corpora, CzEng, Gigaword, Multi30k, dictionaries.

A configuration is a pair of languages, which are also the names of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, bitext
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.bitext_files import Pairs, find_bitext
from paraphrastic_hf.corpora.readers.dictionaries import FREEDICT, dictionary_pairs
from paraphrastic_hf.corpora.readers.paraphrase import BadRowsConfig, TextFilterConfig
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import good_rows, iterate_rows


@dataclass
class BitextConfig(TextFilterConfig, BadRowsConfig):
    """Options of bitext. The thesis filters with `min_words=5, max_words=100` (5.6.2)."""


class BitextCorpus(Corpus):
    """Base of bitext corpora: language columns, length filter, count of bad rows."""

    BUILDER_CONFIG_CLASS = BitextConfig
    DEFAULT_WRITER_BATCH_SIZE = 10_000

    def languages(self) -> tuple[str, str]:
        """Return the names of the two columns: the languages, numbered if they are equal."""
        first, _, second = self.config.name.partition("-")
        if not first or not second:
            raise DataError(
                f"{self.NAME} has no {self.config.name!r}. Give two language codes, such as en-fr"
            )
        return (first, second) if first != second else (f"{first}1", f"{second}2")

    def features(self) -> datasets.Features:
        return bitext(*self.languages())

    def pairs(self, folder: Folder, split: str) -> Pairs:
        """Yield `(place, texts)` or `(place, reason)` for each row, as in `io/pairs.py`."""
        raise NotImplementedError

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        first, second = self.languages()
        options = self.config
        rows, name = self.pairs(folder, split), f"{self.NAME} {options.name}"
        with options.sieve(name) as sieve:
            good = good_rows(
                rows, name=name, bad_rows=options.bad_rows, max_bad_rows=options.max_bad_rows
            )
            for row in good:
                if sieve.keeps(row[0], row[1]):
                    yield {first: row[0], second: row[1]}


class FoundBitext(BitextCorpus):
    """Bitext in any format that `find_bitext` reads."""

    def pairs(self, folder: Folder, split: str) -> Pairs:
        return find_bitext(folder, *self.config.name.split("-", 1))


class Bitext(FoundBitext):
    """Your own bitext in `data_dir`: a TSV, two aligned text files, a TMX or an OPUS zip."""

    NAME = "bitext"


class Opensubtitles2018(FoundBitext):
    NAME = "opensubtitles2018"


class Opensubtitles2016(FoundBitext):
    NAME = "opensubtitles2016"


class Europarl(FoundBitext):
    NAME = "europarl"


class Tanzil(FoundBitext):
    NAME = "tanzil"


class Multiun(FoundBitext):
    NAME = "multiun"


class Setimes(FoundBitext):
    NAME = "setimes"


class NewsCommentary(FoundBitext):
    NAME = "news_commentary"


class CzEng(BitextCorpus):
    """CzEng 1.6 as plain text (thesis, 4.3). Each line has identifier, score, Czech, English."""

    NAME = "czeng"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        for path in folder.files("**/*train.gz"):
            yield from iterate_rows(path, columns=("3", "4"))


class Gigaword(BitextCorpus):
    NAME = "gigaword"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        stem = "giga-fren.release2.fixed"
        english, french = (
            folder.find(f"{stem}.{side}.gz", f"{stem}.{side}") for side in ("en", "fr")
        )
        return iterate_rows(english, second=french)


class Multi30k(BitextCorpus):
    NAME = "multi30k"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        stem = "val" if split == "validation" else split
        first, second = (
            folder.find(f"{stem}.{side}.gz", f"{stem}.{side}", f"task1/raw/{stem}.{side}.gz")
            for side in self.languages()
        )
        return iterate_rows(first, second=second)


class Freedict(BitextCorpus):
    """Words and phrases of FreeDict's dictionaries in both directions, one row per translation.

    Repeated pairs are dropped.
    """

    NAME = "freedict"

    def pairs(self, folder: Folder, split: str) -> Pairs:
        first, second = self.languages()
        unknown = [code for code in (first, second) if code not in FREEDICT]
        if unknown:
            raise DataError(f"freedict lacks {unknown[0]!r}. Choose from {', '.join(FREEDICT)}")
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
