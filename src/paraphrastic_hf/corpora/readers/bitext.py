"""Builders of bitext: your own files, the OPUS corpora, CzEng, Gigaword, Multi30k, dictionaries.

A configuration is a pair of languages, which are also the names of the columns.
"""

from dataclasses import dataclass

import datasets

from paraphrastic_hf.corpora.builder import bitext
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.bitext_files import Pairs, find_bitext
from paraphrastic_hf.corpora.readers.dictionaries import dictionary_pairs
from paraphrastic_hf.corpora.readers.paraphrase import (
    BadRowsConfig,
    FilteredPairs,
    TextFilterConfig,
)
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import iterate_rows


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
    """Words and phrases of FreeDict's dictionaries in both directions, one row per translation.

    Repeated pairs are dropped.
    """

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
            for place, pair in dictionary_pairs(index, order) if index else ():
                sides = pair if name == forth else pair[::-1]
                if tuple(sides) not in seen:
                    seen.add(tuple(sides))
                    yield place, sides
