"""Builders of scored sentence pairs: STS 2012-2017, STS Benchmark, SICK, PIT-2015 Twitter."""

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
    for first, second, score in zip(pairs.first, pairs.second, pairs.scores, strict=True):
        yield {"sentence1": first, "sentence2": second, "score": score, **extra}


SEVERAL_YEARS = {"all": tuple(STS_DATASETS), "supervised": ("2012", "2013", "2014", "2015")}
SUPERVISED_SPLITS = ("train", "validation", "test")


class Sts(Corpus):
    """STS 2012-2016 (thesis, 2.1.1.1), one configuration per year.

    `supervised` has the data of 2012-2015 in three splits (Wieting and Gimpel, 2017, 4.3).
    """

    NAME = "sts"
    FEATURES = scored_pair(dataset=TEXT, year=TEXT)

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
    """Return the rows of one split of a dataset: 40 % train, 10 % validation, 50 % test.

    The paper does not say which rows are in which split. Here each dataset is shuffled with a fixed
    seed. Validation (1,207 rows) and test (6,060 rows) have the paper's sizes. Training has 4,841
    rows, so the paper's 4,481 must be a typo.
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
    """Yield the datasets of a year (`sts14`), `all` or `supervised`, in the thesis's order."""
    several = SEVERAL_YEARS.get(config)
    for year, names in STS_DATASETS.items():
        if year not in (several or (f"20{config[3:]}",)):
            continue
        roots = _year_folders(folder, year)
        if not roots and (several or any(_year_folders(folder, y) for y in STS_DATASETS)):
            raise MissingFileError(
                f"sts: {folder.roots[0]} has no folder sts{year[2:]}. It must hold sts12 to sts16"
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
    """Return folders named after a year (`sts14`, `STS2014-en-test`, `2014`), two levels deep."""
    name = re.compile(rf"(?i)^{year}$|sts[-_]?(20)?{year[2:]}(?!\d)")
    places = [
        path for root in folder.places() for path in (root, *root.glob("*"), *root.glob("*/*"))
    ]
    return [path for path in places if path.is_dir() and name.search(path.name)]


class Sts17(Corpus):
    NAME = "sts17"
    FEATURES = scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        stem = f"{STS17_TRACKS[self.config.name]}.txt"
        inputs = folder.find(f"STS.input.{stem}", f"STS2017.eval.v1.1/STS.input.{stem}")
        gold = folder.find(f"STS.gs.{stem}", f"STS2017.gs/STS.gs.{stem}")
        return scored_rows(read_track(self.config.name, inputs, gold))


class StsBenchmark(Corpus):
    """STS Benchmark, with genre and origin of each pair. The files are TSV without quotes."""

    NAME = "stsb"
    FEATURES = scored_pair(genre=TEXT, dataset=TEXT, year=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return benchmark_rows(folder, split)


def benchmark_rows(folder: Folder, split: str) -> Iterator[Row]:
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
    FEATURES = scored_pair(label=datasets.ClassLabel(names=list(ENTAILMENT)), pair_id=WHOLE)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        return relatedness_rows(folder, split)


def relatedness_rows(folder: Folder, split: str) -> Iterator[Row]:
    for number, path, row in sick_rows(folder, split):
        yield {
            "sentence1": row[1],
            "sentence2": row[2],
            "score": number_in(row[3], f"{path}:{number}", low=1, high=5),
            "label": row[4].strip().lower(),
            "pair_id": int(number_in(row[0], f"{path}:{number}", what="a pair number")),
        }


class SickEntailment(Corpus):
    NAME = "sick_e"
    FEATURES = labeled(ENTAILMENT, ("sentence1", "sentence2"))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for _, _, row in sick_rows(folder, split):
            yield {"sentence1": row[1], "sentence2": row[2], "label": row[4].strip().lower()}


def sick_rows(folder: Folder, split: str) -> Iterator[tuple[int, object, list[str]]]:
    """Yield line number, file and columns of each row in SICK's official files."""
    stem = {"train": "train", "validation": "trial", "test": "test_annotated"}[split]
    path = folder.find(f"SICK_{stem}.txt")
    for number, row in table_rows(path, 5, header="pair_ID"):
        if row[4].strip().lower() not in ENTAILMENT:
            raise DataError(f"{path}:{number} has judgment {row[4]!r}, not {', '.join(ENTAILMENT)}")
        yield number, path, row


class Twitter(Corpus):
    """PIT-2015 (thesis, 3.2.1): scores are the raters' votes, 0 to 5.

    The training label `(3, 2)` means that three of five raters voted for a paraphrase, so the score
    is 3. An expert's label is a single digit. Labels in `test.label` are from 0 to 1 and are
    multiplied by 5.
    """

    NAME = "twitter"
    FEATURES = scored_pair(topic=TEXT)

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
        raise DataError(f"{gold} has {counted(len(labels), 'label')}, but {data} has {rows} rows")
    return labels
