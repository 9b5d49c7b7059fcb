"""Builders of STS 2012-2017. Other scored pairs are in `tables.py`."""

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.sts_files import (
    STS17_TRACKS,
    STS_DATASETS,
    ScoredPairs,
    read_sts_dataset,
    read_sts_train,
    read_track,
)
from paraphrastic_hf.errors import MissingFileError


def scored_rows(pairs: ScoredPairs, **extra: str) -> Iterator[Row]:
    for first, second, score in zip(pairs.first, pairs.second, pairs.scores, strict=True):
        yield {"sentence1": first, "sentence2": second, "score": score, **extra}


SEVERAL_YEARS = {"all": tuple(STS_DATASETS), "supervised": ("2012", "2013", "2014", "2015")}


class Sts(Corpus):
    """STS 2012-2016 (thesis, 2.1.1.1), one configuration per year.

    `supervised` has the data of 2012-2015 in three splits (Wieting and Gimpel, 2017, 4.3).
    """

    FEATURES = scored_pair(dataset=TEXT, year=TEXT)

    def splits(self, folder: Folder) -> Iterable[str]:
        if self.config.name == "supervised":
            return ("train", "validation", "test")
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
    FEATURES = scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        stem = f"{STS17_TRACKS[self.config.name]}.txt"
        inputs = folder.find(f"STS.input.{stem}", f"STS2017.eval.v1.1/STS.input.{stem}")
        gold = folder.find(f"STS.gs.{stem}", f"STS2017.gs/STS.gs.{stem}")
        return scored_rows(read_track(self.config.name, inputs, gold))
