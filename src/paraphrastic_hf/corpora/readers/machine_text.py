"""Human and machine-translated sentences, to train the reference classifier of the 2017 paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import datasets

from paraphrastic_hf.corpora.builder import labeled
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.readers.probing import (
    Example,
    MadeConfig,
    MadeFromText,
    sample_examples,
)
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.pairs import good_rows, iterate_rows

SIDES = REFERENCE, TRANSLATION = "reference", "translation"


@dataclass
class MachineTextConfig(MadeConfig):
    """Options: `train_rows`, `test_rows` (also the size of validation), `seed` of the sample."""

    train_rows: int = 80_000
    test_rows: int = 10_000


class MachineText(MadeFromText):
    """Sentences labeled as reference or machine translation.

    Both sides of randomly sampled pairs are used, so that the classes have equal size, and no pair
    is in two splits. The paper trains on 40,000 pairs and has 5,000 in each other split.
    """

    NAME = "machine_text"
    BUILDER_CONFIG_CLASS = MachineTextConfig

    def features(self) -> datasets.Features:
        return labeled((TRANSLATION, REFERENCE))

    def _make(self, folder: Folder, wanted: int) -> list[Example]:
        odd = [n for n in ("train_rows", "test_rows") if getattr(self.config, n) % 2]
        if odd:
            raise DataError(
                f"{odd[0]} of {self.NAME} must be even, got {getattr(self.config, odd[0])}"
            )
        pairs = sample_examples(_pairs(folder), wanted // 2, wanted // 2, self.config.seed)
        if not pairs:
            raise DataError(f"{self.NAME}: {folder.roots[0]} contains no pairs")
        return [side for a, b in pairs for side in ((a, REFERENCE), (b, TRANSLATION))]


def _pairs(folder: Folder) -> Iterator[Example]:
    root = folder.roots[0]
    files = [root] if root.is_file() else list(folder.files("**/*"))
    for path in files:
        if ".tsv" in path.suffixes:
            rows = iterate_rows(path, prefer=SIDES)
        elif path.suffix == ".parquet" and "rejects" not in path.parts:
            rows = iterate_rows(path, columns=SIDES)
        else:
            continue
        yield from ((a, b) for a, b in good_rows(rows, name=str(path)))
