"""Development pairs that no reported test set holds, so that what they choose is tested fairly.

STS-B dev shares 1,131 of its 1,500 pairs with STS 2012-2016, which every table here reports. Which
pairs are left out is recorded in `reported_pairs.json`, so the set is the same for everyone,
whichever test sets are at hand. The test of this module finds them again from the official files;
`python -m tests.corpora.test_clean_development` writes the record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.phrases import annotated_rows
from paraphrastic_hf.corpora.readers.similarity import benchmark_rows, relatedness_rows

RECORD = "reported_pairs.json"
READERS = {"stsb": benchmark_rows, "sick": relatedness_rows, "annotated_ppdb": annotated_rows}


def pair_key(first: str, second: str) -> tuple[str, str]:
    """What two pairs have in common if they are the same pair.

    Case, punctuation, spaces and the order of the two texts do not count, since releases differ in
    them.

    Example:
        >>> pair_key("A man isn't singing.", "the man sings") == pair_key(
        ...     "The man sings !", "A man is n't singing"
        ... )
        True
    """
    low, high = sorted("".join(filter(str.isalnum, text.lower())) for text in (first, second))
    return low, high


def pair_digest(first: str, second: str) -> str:
    """A short hash of the key of a pair, by which the record names it without its text."""
    key = "\t".join(pair_key(first, second))
    return hashlib.blake2b(key.encode("utf-8"), digest_size=5).hexdigest()


@cache
def reported_pairs() -> frozenset[str]:
    """Digests of the pairs of the three sets that are tested on, or trained on, somewhere here."""
    text = files("paraphrastic_hf.corpora.records").joinpath(RECORD).read_text(encoding="utf-8")
    return frozenset(json.loads(text))


class CleanDevelopment(Corpus):
    """What is left of STS-B dev, SICK trial and Annotated-PPDB dev: a configuration a set."""

    NAME = "clean_development"

    def features(self) -> datasets.Features:
        return scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        seen = set(reported_pairs())
        for row in READERS[self.config.name](folder, split):
            digest = pair_digest(row["sentence1"], row["sentence2"])
            if digest not in seen:
                seen.add(digest)
                yield {column: row[column] for column in ("sentence1", "sentence2", "score")}
