"""Development pairs that are in no reported test set.

STS-B dev shares 1,131 of its 1,500 pairs with STS 2012-2016. `reported_pairs.json` lists the pairs
to leave out. `python -m tests.corpora.test_clean_development` writes it.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cache

from paraphrastic_hf.corpora.builder import Corpus, Row, scored_pair
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.layouts import read_table
from paraphrastic_hf.corpora.sources import RECORDS, SOURCES

RECORD = "reported_pairs.json"


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return a key that ignores the case, punctuation, spaces and order of a pair's texts."""
    low, high = sorted("".join(filter(str.isalnum, text.lower())) for text in (first, second))
    return low, high


def pair_digest(first: str, second: str) -> str:
    """Return a short hash of a pair's key, so that `reported_pairs.json` contains no text."""
    key = "\t".join(pair_key(first, second))
    return hashlib.blake2b(key.encode("utf-8"), digest_size=5).hexdigest()


@cache
def reported_pairs() -> frozenset[str]:
    """Return the digests of pairs that are also used for testing or training."""
    return frozenset(json.loads(RECORDS.joinpath(RECORD).read_text(encoding="utf-8")))


class CleanDevelopment(Corpus):
    """Pairs of STS-B dev, SICK trial and Annotated-PPDB dev that are in no reported test set."""

    FEATURES = scored_pair()

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        seen = set(reported_pairs())
        for row in read_table(SOURCES[self.config.name], folder, "default", split):
            digest = pair_digest(row["sentence1"], row["sentence2"])
            if digest not in seen:
                seen.add(digest)
                yield {column: row[column] for column in ("sentence1", "sentence2", "score")}
