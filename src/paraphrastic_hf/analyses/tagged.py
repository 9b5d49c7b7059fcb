"""Sentences with parts of speech and dependency relations, and means by label."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.sources import SOURCES


@dataclass(frozen=True)
class TreebankSentence:
    """Words of a sentence with Penn tags and dependency relations, if the treebank has any."""

    words: list[str]
    tags: list[str]
    relations: list[str]


def read_tagged(corpus: str, data_dir: str | Path) -> list[TreebankSentence]:
    """Read the sentences of all splits of a tagged corpus, such as `ewt` or `treebank`."""
    (splits,) = SOURCES[corpus].configs.values()
    found = []
    for split in splits:
        for row in load_dataset(corpus, split=split, data_dir=data_dir, streaming=True):
            tags = row.get("penn_tags", row["tags"])
            found.append(TreebankSentence(row["tokens"], tags, row.get("relations", [])))
    return found


def mean_by(
    labels: Sequence[str], values: np.ndarray, *, least: int = 1
) -> list[tuple[str, int, float]]:
    """Return the count and mean of the values of each label, highest mean first.

    NaN is left out, and labels with fewer than `least` values.
    """
    groups: dict[str, list[float]] = {}
    for label, value in zip(labels, values.tolist(), strict=True):
        if not np.isnan(value):
            groups.setdefault(label, []).append(value)
    means = [
        (label, len(group), float(np.mean(group)))
        for label, group in groups.items()
        if len(group) >= least
    ]
    return sorted(means, key=lambda item: (-item[2], item[0]))
