"""Builders of retrieval sets and translation scores: Tatoeba, BUCC, WMT direct assessment."""

import json
from collections.abc import Iterator

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, bitext
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.tables import Table
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import READ_ERRORS, aligned_lines, number_in, open_lines, table_rows

NOT_AS_EXPECTED = (ValueError, KeyError, AttributeError, TypeError, RecursionError)


class Tatoeba(Corpus):
    def features(self) -> datasets.Features:
        return bitext(self.config.name, "eng")

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        language = self.config.name
        first, second = (
            folder.find(f"tatoeba.{language}-eng.{side}") for side in (language, "eng")
        )
        for _, foreign, english in aligned_lines(first, second):
            yield {language: foreign, "eng": english}


class Bucc(Corpus):
    """BUCC 2018 (thesis, 5.13.2): the `gold` pairs, and both monolingual sides.

    In the splits `source` and `target`, the column of the other language is empty. `id` identifies
    the sentence. File names may be official (`zh-en.training.zh`) or XTREME's (`zh-en.dev.zh`).
    """

    def features(self) -> datasets.Features:
        return bitext(*self.config.name.split("-"), id=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        first, second = self.config.name.split("-")
        if split in ("source", "target"):
            own, other = (first, second) if split == "source" else (second, first)
            for key, text in self._sentences(folder, own).items():
                yield {own: text, other: None, "id": key}
            return
        left, right = self._sentences(folder, first), self._sentences(folder, second)
        path = folder.find(*self._names("gold"))
        for number, (a, b, *_) in table_rows(path, 2):
            if a not in left or b not in right:
                raise DataError(
                    f"{path}:{number} pairs {a} with {b}, but the file of {first} or {second} "
                    "sentences lacks this identifier"
                )
            yield {first: left[a], second: right[b], "id": f"{a} {b}"}

    def _sentences(self, folder: Folder, language: str) -> dict[str, str]:
        rows = table_rows(folder.find(*self._names(language)), 2)
        return {row[0]: row[1] for _, row in rows}

    def _names(self, ending: str) -> list[str]:
        parts = ("dev", "training", "sample", "test")
        return [f"{self.config.name}.{part}.{ending}" for part in parts]


class WmtScores(Table):
    """WMT segments with human scores (thesis, 7.2.1): `sentence1` is the reference.

    `score` is the standardized direct assessment. The file is `newstest2015.cs-en.tsv` (score,
    reference, output) or the original JSON.
    """

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        if folder.find_or_none(f"{self.config.name}.tsv"):
            yield from super().rows(folder, split)
            return
        year, pair = self.config.name.removeprefix("newstest20").split(".")
        name = f"{year}_{pair}_formated.json"
        path = folder.find(name, f"{name}.gz")
        with open_lines(path) as file:
            try:
                for name, segment in json.load(file).items():
                    output = segment["system"][f"wmt{year}"]
                    yield {
                        "sentence1": segment["references_sentences"].strip(),
                        "sentence2": output["generated_sentence"].strip(),
                        "score": number_in(str(output["scores"]["human"]), f"{path}: {name}"),
                    }
            except DataError:
                raise
            except (*NOT_AS_EXPECTED, *READ_ERRORS) as error:
                raise DataError(f"{path} is not a JSON file of segments: {error!r}") from error
