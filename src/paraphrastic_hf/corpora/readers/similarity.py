"""Builders of scored sentence pairs: STS 2012-2017, STS Benchmark, SICK, PIT-2015 Twitter.

The STS files are parsed by `sts_files.py`, which the evaluation reads too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import datasets

from paraphrastic_hf.corpora.builder import TEXT, WHOLE, Corpus, Row, labeled, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.sts_files import (
    STS17_TRACKS,
    STS_DATASETS,
    ScoredPairs,
    read_sts_dataset,
    read_sts_train,
    read_track,
)
from paraphrastic_hf.errors import DataError, MissingFileError, counted
from paraphrastic_hf.io.lines import number_in, table_rows

ENTAILMENT = ("entailment", "neutral", "contradiction")


def scored_rows(pairs: ScoredPairs, **extra: str) -> Iterator[Row]:
    """Rows of one dataset."""
    for first, second, score in zip(pairs.first, pairs.second, pairs.scores, strict=True):
        yield {"sentence1": first, "sentence2": second, "score": score, **extra}


SEVERAL_YEARS = {"all": tuple(STS_DATASETS), "supervised": ("2012", "2013", "2014", "2015")}
SUPERVISED_SPLITS = ("train", "validation", "test")


class Sts(Corpus):
    """STS 2012-2016 (thesis, 2.1.1.1): a configuration a year, `dataset` names the dataset.

    `supervised` is 2012-2015 in three splits (Wieting and Gimpel, 2017, 4.3).
    """

    NAME = "sts"

    def features(self) -> datasets.Features:
        return scored_pair(dataset=TEXT, year=TEXT)

    def splits(self, folder: Folder) -> Iterable[str]:
        if self.config.name == "supervised":
            return SUPERVISED_SPLITS
        has_train = self.config.name == "sts12" and folder.find_or_none(
            "STS2012-train/STS.input.MSRpar.txt", "train/STS.input.MSRpar.txt"
        )
        return ("test", "train") if has_train else ("test",)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        is_supervised = self.config.name == "supervised"
        is_train = split == "train" and not is_supervised
        for pairs in sts_datasets(folder, self.config.name, train=is_train):
            rows = list(scored_rows(pairs, dataset=pairs.name, year=pairs.group.split()[0]))
            yield from share_of(rows, split, pairs) if is_supervised else rows


def share_of(rows: list[Row], split: str, pairs: ScoredPairs) -> Iterator[Row]:
    """A split of one dataset: four tenths, one tenth, and the rest, rounded down.

    The paper does not say which rows; here a shuffle of each dataset's own decides. Its sizes come
    out: 1,207 and 6,060, and 4,841 for training, of which its 4,481 must be a slip.
    """
    order = list(range(len(rows)))
    random.Random(f"{pairs.group} {pairs.name}").shuffle(order)
    train, validation = (len(rows) * tenths // 10 for tenths in (4, 1))
    places = {
        "train": slice(train),
        "validation": slice(train, train + validation),
        "test": slice(train + validation, None),
    }
    return (rows[number] for number in sorted(order[places[split]]))


def sts_datasets(folder: Folder, config: str, *, train: bool = False) -> Iterator[ScoredPairs]:
    """The datasets of one year (`sts14`), of `all` or of `supervised`, in the thesis's order."""
    several = SEVERAL_YEARS.get(config)
    for year, names in STS_DATASETS.items():
        if year not in (several or (f"20{config[3:]}",)):
            continue
        roots = _year_folders(folder, year)
        if not roots and (several or any(_year_folders(folder, y) for y in STS_DATASETS)):
            raise MissingFileError(
                f"sts: {folder.roots[0]} holds no folder sts{year[2:]}; name the folder that holds "
                "sts12 to sts16"
            )
        roots = roots or list(folder.places())
        if train:
            yield from read_sts_train(roots)
            continue
        for name in names:
            pairs = read_sts_dataset(roots, year, name)
            if pairs is not None:
                yield pairs


def _year_folders(folder: Folder, year: str) -> list[Path]:
    """Folders of a year, by their names (`sts14`, `STS2014-en-test`, `2014`), to two levels."""
    name = re.compile(rf"(?i)^{year}$|sts[-_]?(20)?{year[2:]}(?!\d)")
    places = [
        path for root in folder.places() for path in (root, *root.glob("*"), *root.glob("*/*"))
    ]
    return [path for path in places if path.is_dir() and name.search(path.name)]


class Sts17(Corpus):
    """STS 2017 (thesis, 2.1.1.2): a configuration a track."""

    NAME = "sts17"

    def features(self) -> datasets.Features:
        return scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        stem = f"{STS17_TRACKS[self.config.name]}.txt"
        inputs = folder.find(f"STS.input.{stem}", f"STS2017.eval.v1.1/STS.input.{stem}")
        gold = folder.find(f"STS.gs.{stem}", f"STS2017.gs/STS.gs.{stem}")
        return scored_rows(read_track(self.config.name, inputs, gold))


class StsBenchmark(Corpus):
    """The STS Benchmark: tab-separated and unquoted, with the genre and origin of each pair."""

    NAME = "stsb"

    def features(self) -> datasets.Features:
        return scored_pair(genre=TEXT, dataset=TEXT, year=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return benchmark_rows(folder, split)


def benchmark_rows(folder: Folder, split: str) -> Iterator[Row]:
    """Rows of the STS Benchmark's official files."""
    path = folder.find(f"sts-{'dev' if split == 'validation' else split}.csv")
    for number, row in table_rows(path, 7):
        yield {
            "sentence1": row[5],
            "sentence2": row[6],
            "score": number_in(row[4], f"{path}:{number}", low=0, high=5),
            "genre": row[0],
            "dataset": row[1],
            "year": row[2],
        }


class Sick(Corpus):
    """SICK (thesis, 2.1.2): relatedness as `score`, entailment as `label`."""

    NAME = "sick"

    def features(self) -> datasets.Features:
        return scored_pair(label=datasets.ClassLabel(names=list(ENTAILMENT)), pair_id=WHOLE)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return relatedness_rows(folder, split)


def relatedness_rows(folder: Folder, split: str) -> Iterator[Row]:
    """Rows of SICK with both kinds of judgment."""
    for number, path, row in sick_rows(folder, split):
        yield {
            "sentence1": row[1],
            "sentence2": row[2],
            "score": number_in(row[3], f"{path}:{number}", low=1, high=5),
            "label": row[4].strip().lower(),
            "pair_id": int(number_in(row[0], f"{path}:{number}", what="a pair number")),
        }


class SickEntailment(Corpus):
    """SICK-E (thesis, 2.1.2)."""

    NAME = "sick_e"

    def features(self) -> datasets.Features:
        return labeled(ENTAILMENT, ("sentence1", "sentence2"))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for _, _, row in sick_rows(folder, split):
            yield {"sentence1": row[1], "sentence2": row[2], "label": row[4].strip().lower()}


def sick_rows(folder: Folder, split: str) -> Iterator[tuple[int, object, list[str]]]:
    """Line number, file and columns of SICK's official files."""
    stem = {"train": "train", "validation": "trial", "test": "test_annotated"}[split]
    path = folder.find(f"SICK_{stem}.txt")
    for number, row in table_rows(path, 5, header="pair_ID"):
        if row[4].strip().lower() not in ENTAILMENT:
            raise DataError(
                f"{path}:{number} has the judgment {row[4]!r}; expected {', '.join(ENTAILMENT)}"
            )
        yield number, path, row


class Twitter(Corpus):
    """PIT-2015 (thesis, 3.2.1): scores are the raters' votes, 0 to 5.

    Training labels read `(3, 2)`, three of five raters for a paraphrase; an expert's digit stands
    alone. The test set's are in `test.label`, from 0 to 1, times 5 here.
    """

    NAME = "twitter"

    def features(self) -> datasets.Features:
        return scored_pair(topic=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = folder.find(f"{'dev' if split == 'validation' else split}.data")
        labels = _test_labels(folder, path) if split == "test" else None
        for place, (number, row) in enumerate(table_rows(path, 5)):
            score = labels[place] if labels else _votes(row[4], f"{path}:{number}")
            yield {"sentence1": row[2], "sentence2": row[3], "score": score, "topic": row[1]}


def _votes(label: str, place: str) -> float:
    votes = re.fullmatch(r"\(?\s*(\d)\s*(?:,\s*\d\s*\))?", label.strip())
    return number_in(votes.group(1) if votes else label, place, low=0, high=5, what="votes")


def _test_labels(folder: Folder, data: Path) -> list[float]:
    gold = folder.find("test.label")
    labels = [
        5 * number_in(row[-1], f"{gold}:{number}", low=0, high=1, what="a label")
        for number, row in table_rows(gold, 1)
    ]
    rows = sum(1 for _ in table_rows(data, 5))
    if len(labels) != rows:
        raise DataError(
            f"{gold} has {counted(len(labels), 'label')}, expected {rows}, as many as {data} has "
            "rows"
        )
    return labels
