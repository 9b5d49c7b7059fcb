"""Builders of STS 2012-2017 and Hard STS. Other scored pairs are in `tables.py`.

Hard STS has STS pairs with misleading word order and word choice (thesis, 5.6.3, Tables 47 to 49).
The symmetric word error rate of lower-cased Moses tokens is ranked among all 13,294 pairs of STS
2012-2016. Hard+ has gold scores 4 to 5 and an error rate in the top fifth. Hard- has gold scores 0
to 1 and an error rate in the bottom fifth. The names follow Table 47 and the released lists (the
text of 5.6.3 swaps them). Table 49 counts repeated pairs with equal scores once.
"""

import logging
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.builder import NUMBER, TEXT, Corpus, Row, scored_pair
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
    """STS 2012-2016 (thesis, 2.1.1.1), or 2012-2015 in splits (2017 paper, 4.3: `supervised`)."""

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
    """Return the rows of one split of a dataset: 40 % train, 10 % validation, 50 % test, shuffled
    with a fixed seed, because the paper does not name the rows. Validation (1,207) and test (6,060)
    have the paper's sizes. Training has 4,841, so the paper's 4,481 must be a typo.
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


logger = logging.getLogger(__name__)

NEGATIONS = frozenset(("not", "'t"))
SIDES = ("sentence1", "sentence2")


class HardSts(Corpus):
    """Hard STS and the splits of Table 49. `percentile` ranks the error rate `swer`, 0 to 100."""

    FEATURES = scored_pair(dataset=TEXT, year=TEXT, swer=NUMBER, percentile=NUMBER)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        rows = [
            row
            for pairs in sts_datasets(folder, "all")
            for row in scored_rows(pairs, dataset=pairs.name, year=pairs.group)
        ]
        if not any(row["dataset"] == "SMT" for row in rows):
            logger.warning(
                "STS13 SMT is missing: the splits differ from the published ones, because "
                "percentiles are over %s pairs instead of 13,294",
                f"{len(rows):,}",
            )
        tokens = moses_tokens()
        rates = [
            symmetric_word_error_rate(
                *([token.lower() for token in tokens(row[side])] for side in SIDES)
            )
            for row in rows
        ]
        places = percentiles(rates)
        name = split if self.config.name == "hard" else self.config.name
        is_released = name in ("hard_plus", "hard_minus")
        seen = set()
        for row, rate, place in zip(rows, rates, places, strict=True):
            key = (row["sentence1"], row["sentence2"], row["score"])
            if not is_released and key in seen:
                continue
            seen.add(key)
            if name == "negation":
                taken = has_negation(tokens(key[0])) != has_negation(tokens(key[1]))
            else:
                taken = SPLITS[name](row["score"], place)
            if taken:
                yield {**row, "swer": rate, "percentile": place}


SPLITS: dict[str, Callable[[float, float], bool]] = {
    "hard_plus": lambda gold, place: gold >= 4 and place >= 80,
    "hard_minus": lambda gold, place: gold <= 1 and place <= 20,
    "all": lambda gold, place: True,
    "bottom20_swer_0_2": lambda gold, place: gold <= 2 and place <= 20,
    "bottom10_swer_0_1": lambda gold, place: gold <= 1 and place <= 10,
    "top20_swer_3_5": lambda gold, place: gold >= 3 and place >= 80,
    "top10_swer_4_5": lambda gold, place: gold >= 4 and place >= 90,
    "easy_top20_0_2": lambda gold, place: gold <= 2 and place >= 80,
    "easy_bottom20_3_5": lambda gold, place: gold >= 3 and place <= 20,
}


@cache
def moses_tokens() -> Callable[[str], tuple[str, ...]]:
    """Return a cached Moses tokenizer for English that keeps case and escapes nothing."""
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer("en")

    @lru_cache(maxsize=1 << 16)
    def tokens(text: str) -> tuple[str, ...]:
        return tuple(moses.tokenize(text, escape=False))

    return tokens


def symmetric_word_error_rate(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the mean of WER(s1, s2) and WER(s2, s1) (thesis, footnote 17 of chapter 5)."""
    from rapidfuzz.distance import Levenshtein

    edits = Levenshtein.distance(first, second)
    return 0.5 * edits / max(len(first), 1) + 0.5 * edits / max(len(second), 1)


def percentiles(values: Sequence[float]) -> list[float]:
    """Return the percentile rank of each value, 0 to 100. Equal values share their mean rank."""
    array = np.asarray(values, np.float64)
    ordered = np.sort(array)
    below = np.searchsorted(ordered, array, "left")
    up_to = np.searchsorted(ordered, array, "right")
    places: Any = (below + 1 + up_to) * 50.0 / len(array)
    return places.tolist()


def has_negation(tokens: Sequence[str]) -> bool:
    """Return whether *not* or *'t* is among the tokens (thesis, footnote 19 of chapter 5)."""
    return not NEGATIONS.isdisjoint(tokens)
