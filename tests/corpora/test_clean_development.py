"""Development pairs are in no reported or training set.

After changing the reported sets, write the record with PARAPHRASTIC_DATA set:
`python -m tests.corpora.test_clean_development` (from the root of the repository).
"""

import json
import os
from functools import cache
from pathlib import Path

import pytest

from paraphrastic_hf.corpora.folder import open_folder
from paraphrastic_hf.corpora.layouts import read_table
from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.corpora.readers import clean_development
from paraphrastic_hf.corpora.readers.clean_development import (
    RECORD,
    pair_digest,
    pair_key,
    reported_pairs,
)
from paraphrastic_hf.errors import MissingFileError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.suites.pairs import PairsTask

DATA = os.environ.get("PARAPHRASTIC_DATA")
CONFIGS = list(find_source("clean_development").configs)


def needs_data(test):
    """Mark a test of official files as slow, and skip it without them."""
    skipped = pytest.mark.skipif(DATA is None, reason="PARAPHRASTIC_DATA is not set")
    return pytest.mark.slow(skipped(test))


# Development sets that suites also report.
FOR_DEVELOPMENT = {("STS-B", "dev"), ("PPDB", "Annotated-PPDB dev")}
# Corpora and splits that suites test on without a task of scored pairs.
OTHER_PAIRS = {
    "transfer": [("mrpc", "test"), ("sick", "test")],
    "xnli": [("xnli", "validation")],
    "wmt-da": [("wmt_da", "test")],
}
# Suites without monolingual sentence pairs, or with those of `sts`.
WITHOUT_PAIRS = {"probing", "tatoeba", "bucc", "speed", "sts-metrics"}
# Subsets of other suites, which are slow to read.
SUBSETS = {"sts-hard", "sts-bins"}
# Training sets of recipes and classifiers. Test sets of STS 2012-2015 are included above.
TRAINED_ON = [("stsb", "train"), ("sick", "train"), ("mrpc", "train")]


def keys(rows):
    return frozenset(pair_key(row["sentence1"], row["sentence2"]) for row in rows)


def keys_of(pairs):
    return frozenset(map(pair_key, pairs.first, pairs.second))


def read(corpus, split):
    """Return the pairs of every available configuration with the split."""
    found = {}
    for config, splits in find_source(corpus).configs.items():
        if split in splits:
            try:
                rows = load_dataset(corpus, config, split, data_dir=folder(), streaming=True)
                found[f"{corpus} {config} {split}"] = keys(rows)
            except MissingFileError:
                continue
    return found


def folder():
    return Path(str(DATA)) / "eval"


@cache
def reported():
    """Return the pairs of every available reported set, by name."""
    found = {}
    for name, suite in SUITES.items():
        if name in SUBSETS or name == "development":
            continue
        for task in suite.tasks.values():
            if isinstance(task, PairsTask):
                try:
                    datasets = task.datasets(folder())
                except MissingFileError:
                    continue
                for pairs in datasets:
                    if (pairs.group, pairs.name) not in FOR_DEVELOPMENT:
                        found[f"{name}: {pairs.group} {pairs.name}"] = keys_of(pairs)
        for corpus, split in OTHER_PAIRS.get(name, []):
            found |= read(corpus, split)
    return found


@cache
def trained_on():
    return {name: pairs for place in TRAINED_ON for name, pairs in read(*place).items()}


@needs_data
@pytest.mark.parametrize("config", CONFIGS)
def test_no_clean_pair_is_in_a_reported_or_training_set(config):
    place = {"data_dir": folder(), "streaming": True}
    own = keys(load_dataset("clean_development", config, "validation", **place))
    assert own
    sets = reported() | trained_on()
    assert [name for name, pairs in sets.items() if own & pairs] == []


@needs_data
def test_all_reported_sets_are_read():
    """No overlap means little if the sets were not read."""
    sets = reported()
    years = [name for name in sets if name.startswith("sts: 20")]
    assert len(years) == 25
    assert {"sts: STS-B test", "sts: STS17 en-en", "sick: SICK test"} <= sets.keys()
    assert {"phrases: PPDB Annotated-PPDB test", "phrases: PPDB Pavlick"} <= sets.keys()
    assert {"mrpc default test", "xnli en validation", "words: words SL999"} <= sets.keys()
    assert sum(name.startswith("wmt_da newstest") for name in sets) == 8
    assert sum(map(len, sets.values())) > 60_000


def test_every_suite_is_checked():
    """Declare the pairs of a new suite here."""
    for name, suite in SUITES.items():
        if not any(isinstance(task, PairsTask) for task in suite.tasks.values()):
            assert name in OTHER_PAIRS.keys() | WITHOUT_PAIRS
    assert OTHER_PAIRS.keys() | WITHOUT_PAIRS <= SUITES.keys()


@needs_data
def test_the_record_equals_the_official_files():
    assert reported_pairs() == frozenset(found_again())


@needs_data
def test_published_overlaps_of_sts_b_dev_are_correct():
    """1,131 of 1,500 pairs of STS-B dev are reported, and all of STS17 en-en, half of it twice."""
    sets = reported()
    years = frozenset().union(*(of for name, of in sets.items() if name.startswith("sts: 20")))
    dev = [pair_key(row["sentence1"], row["sentence2"]) for row in rows_of("stsb")]
    assert sum(key in years for key in dev) == 1131
    assert sum(key in sets["sts: STS17 en-en"] for key in dev) == 125
    assert len(sets["sts: STS17 en-en"] & sets["sts: STS-B test"]) == 125


def test_reported_and_repeated_pairs_are_left_out(tmp_path, monkeypatch):
    rows = [
        "A dog runs.\tThe cat sleeps.",
        "the cat sleeps\tA DOG RUNS",  # the first pair, swapped
        "Two men sing!\tIt rains.",
        "One man sings.\tIt snows.",
    ]
    table = "".join(f"main\ti\t2012\t1\t{score}\t{row}\n" for score, row in enumerate(rows))
    (tmp_path / "sts-dev.csv").write_text(table, encoding="utf-8")
    record = frozenset([pair_digest("it rains", "Two men sing")])
    monkeypatch.setattr(clean_development, "reported_pairs", lambda: record)
    found = load_dataset("clean_development", "stsb", "validation", data_dir=tmp_path)
    assert found["score"][:] == [0.0, 3.0]


def rows_of(config):
    opened = open_folder(find_source("clean_development"), config, folder())
    return read_table(find_source(config), opened, "default", "validation")


def found_again():
    known = frozenset().union(*reported().values(), *trained_on().values())
    return sorted(
        {
            pair_digest(row["sentence1"], row["sentence2"])
            for config in CONFIGS
            for row in rows_of(config)
            if pair_key(row["sentence1"], row["sentence2"]) in known
        }
    )


def main():
    lines = ",\n".join(map(json.dumps, found_again()))
    path = Path(clean_development.__file__).parents[1] / "records" / RECORD
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
