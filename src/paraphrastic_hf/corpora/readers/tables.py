"""Builders of corpora in tables, or in one file per class, as their records describe them."""

import re
from collections.abc import Iterator
from pathlib import Path

from datasets import ClassLabel, Features
from datasets import Sequence as ListOf

from paraphrastic_hf.corpora.builder import NUMBER, TEXT, WHOLE, Corpus, Row, labeled, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.layouts import read_table
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.lines import number_in, table_rows, text_lines


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
    """Mitchell and Lapata's bigrams (thesis, 3.5.6): one row per pair, with the mean rating.

    Both splits have the same pairs. 5 people rated the validation split, 13 others the test split.
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
    """PIT-2015 (thesis, 3.2.1): scores are the raters' votes, 0 to 5.

    The training label `(3, 2)` means that three of five raters voted for a paraphrase, so the score
    is 3. An expert's label is a single digit. Labels in `test.label` are from 0 to 1 and are
    multiplied by 5.
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
