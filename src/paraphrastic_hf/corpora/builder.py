"""Base class of the `datasets` builders, and the five row types."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets
from datasets import ClassLabel, Features, Value
from datasets import Sequence as ListOf
from datasets.iterable_dataset import ExamplesIterable

import paraphrastic_hf
from paraphrastic_hf.corpora.folder import Folder, fingerprint, open_folder
from paraphrastic_hf.corpora.layouts import Row as Row
from paraphrastic_hf.corpora.layouts import find_file
from paraphrastic_hf.corpora.sources import Source
from paraphrastic_hf.errors import DataError


class Corpus(datasets.GeneratorBasedBuilder):
    """Base class of the `datasets` builders. Files whose contents changed are read again."""

    FEATURES: ClassVar[Features]

    def __init__(self, source: Source, config_name: str | None = None, **options: Any) -> None:
        self.source = source
        config_name = config_name or next(iter(source.configs))
        stamp = [options.get("hash"), paraphrastic_hf.__version__, datasets.__version__]
        if options.get("data_dir") is not None:
            stamp.append(open_folder(source, config_name, options["data_dir"]).fingerprint())
        if options.get("vocabulary"):  # option that names a file
            stamp.append(fingerprint([Path(options["vocabulary"])]))
        options |= {"dataset_name": source.name, "hash": "-".join(filter(None, stamp))}
        super().__init__(config_name=config_name, **options)

    def features(self) -> datasets.Features:
        return self.FEATURES.copy()

    def rows(self, folder: Folder, split: str) -> Iterable[Row]:
        """Yield the rows of one split, in file order."""
        raise NotImplementedError

    def splits(self, folder: Folder) -> Iterable[str]:
        """Return the splits found in a folder, by default those listed in the corpus's record."""
        return self.source.configs.get(self.config.name, {"train": None})

    def find(self, folder: Folder, split: str, **names: str) -> Path:
        """Find the file of a split by the patterns in the corpus's record."""
        return find_file(self.source, folder, self.config.name, split, **names)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=self.source.summary,
            features=self.features(),
            homepage=self.source.homepage,
            license=self.source.license,
            citation=self.source.citation,
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = open_folder(self.source, self.config.name, self.config.data_dir)
        return [
            datasets.SplitGenerator(name=name, gen_kwargs={"folder": folder, "split": name})
            for name in self.splits(folder)
        ]

    def _generate_examples(self, folder: Folder, split: str) -> Iterator[tuple[int, Row]]:
        number = -1
        for number, row in enumerate(self.rows(folder, split)):
            yield number, row
        if number < 0:
            name = f"{self.source.name} {self.config.name}"
            raise DataError(f"{name} has no rows in the split {split}")

    def _get_examples_iterable_for_split(self, split_generator: datasets.SplitGenerator) -> Any:
        """Skip type conversion, unless class names must be converted to numbers."""
        if any(isinstance(f, datasets.ClassLabel) for f in self.info.features.values()):
            return super()._get_examples_iterable_for_split(split_generator)
        rows = TypedRows(self._generate_examples, split_generator.gen_kwargs)
        rows.types = self.info.features
        return rows


class TypedRows(ExamplesIterable):
    """Streamed rows without type conversion, which would take several times as long as reading."""

    types: datasets.Features

    @property
    def is_typed(self) -> bool:
        return True

    @property
    def features(self) -> datasets.Features:
        return self.types


TEXT = Value("string")
NUMBER = Value("float64")  # also the type of streamed numbers in every version of datasets
WHOLE = Value("int64")


def pair(**extra: object) -> Features:
    return Features({"sentence1": TEXT, "sentence2": TEXT, **extra})


def scored_pair(**extra: object) -> Features:
    return Features({"sentence1": TEXT, "sentence2": TEXT, "score": NUMBER, **extra})


def bitext(first: str, second: str, **extra: object) -> Features:
    """Return the columns of bitext, named after the two languages."""
    return Features({first: TEXT, second: TEXT, **extra})


def parsed_sentence(**extra: object) -> Features:
    """Return the columns `text`, `tokens`, `tags` and any extra ones, such as `tree`."""
    return Features({"text": TEXT, "tokens": ListOf(TEXT), "tags": ListOf(TEXT), **extra})


def labeled(
    labels: Sequence[str] | None, texts: Sequence[str] = ("text",), **extra: object
) -> Features:
    """Return the columns of a classification task. `labels` None means that they are free text."""
    label = TEXT if labels is None else ClassLabel(names=list(labels))
    return Features({**dict.fromkeys(texts, TEXT), "label": label, **extra})
