"""Builders of probing tasks: Conneau's tasks, and the thesis's tasks made from any text (5.7.2).

`MachineText` makes training text for the 2017 paper's reference classifier (5.6.1).
"""

import logging
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, labeled
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.lines import iterate_lines, table_rows
from paraphrastic_hf.io.pairs import good_rows, iterate_rows, names_columns

logger = logging.getLogger(__name__)

SPLITS = {"train": "tr", "validation": "va", "test": "te"}
# punctuation marks (thesis, footnote 21 of chapter 5)
PUNCTUATION = "!\"#$%&\\'()*+,-./:;<=>?@[]_`{|}~"
MAX_MARKS = 11
ARTICLES = {
    "fr": {"le": "la", "la": "le", "un": "une", "une": "un"},
    "es": {"el": "la", "la": "el", "los": "las", "las": "los"},
}
Example = tuple[str, str]


class Probing(Corpus):
    """Probing tasks (thesis, 5.7.2), one per configuration. Labels are as in the files.

    Reads SentEval's `task.txt` (split, label, sentence), or X-Probe's `task/va.txt` and
    `task/te.txt` (sentence, label), which have no training split.
    """

    FEATURES = labeled(None)

    def splits(self, folder: Folder) -> Iterable[str]:
        if folder.find_or_none(f"{self.config.name}.txt") is not None:
            return tuple(SPLITS)
        return ("validation", "test")

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        task, part = self.config.name, SPLITS[split]
        original = folder.find_or_none(f"{task}.txt")
        if original is not None:
            for _, row in table_rows(original, 3):
                if row[0] == part:
                    yield {"text": row[2], "label": row[1]}
            return
        # X-Probe has a folder per language.
        path = folder.find(f"en/{task}/{part}.txt", f"{task}/{part}.txt", f"{task}.txt")
        for _, row in table_rows(path, 2):
            yield {"text": row[0], "label": row[1]}


@dataclass
class MadeConfig(datasets.BuilderConfig):
    """Options of a task made from text."""

    column: int = 0  # index of the text column in a TSV file
    train_rows: int = 100_000
    test_rows: int = 10_000  # also of the validation split
    label_cap: int = -1  # most examples of a label over all splits (0: no limit, -1: the task's)
    seed: int = 1


class MadeFromText(Corpus):
    """Probing task made from text files. Equal text, options and seed give equal splits. All splits
    shrink if the text is too small.
    """

    BUILDER_CONFIG_CLASS = MadeConfig
    label_caps: ClassVar[dict[str, int]] = {}  # default `label_cap` by configuration
    _made: list[Example] | None = None  # examples of all splits, made for the first one

    def label_of(self, text: str) -> str | None:
        """Return the label or group that `label_cap` limits, or None for unusable sentences."""
        raise NotImplementedError

    def examples(self, sample: list[Example]) -> list[Example]:
        """Turn a sample of sentences into labeled examples."""
        return sample

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        options = self.config
        wanted = options.train_rows + 2 * options.test_rows
        if split == "train" or self._made is None:
            self._made = self._make(folder, wanted)
        made = self._made
        if split == "test":
            self._made = None
        train, test = options.train_rows, options.test_rows
        if len(made) < wanted:
            test = len(made) * options.test_rows // wanted
            train = len(made) - 2 * test
            if not test:
                raise DataError(
                    f"{folder.roots[0]} has only {len(made):,} usable sentences for "
                    f"{self.source.name}. Lower train_rows and test_rows, or give more text"
                )
            logger.warning(
                "%s: found %s instead of %s, so train_rows becomes %s and test_rows %s",
                *(self.source.name, counted(len(made), "example")),
                *(f"{number:,}" for number in (wanted, train, test)),
            )
        start = {"train": 0, "validation": train, "test": train + test}[split]
        for text, label in made[start : start + (train if split == "train" else test)]:
            yield {"text": text, "label": label}

    def _make(self, folder: Folder, wanted: int) -> list[Example]:
        cap = self.config.label_cap
        cap = self.label_caps.get(self.config.name, 0) if cap < 0 else cap
        sentences = (
            text
            for path in folder.files("**/*")
            if path == folder.roots[0] or {".txt", ".tsv"} & set(path.suffixes)
            for text in _column(path, self.config.column)
        )
        labeled_texts = ((text, label) for text in sentences if (label := self.label_of(text)))
        sample = sample_examples(
            labeled_texts, cap or wanted, wanted, self.config.seed, per_label=cap > 0
        )
        made = self.examples(sample)
        if not made:
            raise DataError(f"{self.source.name}: {folder.roots[0]} has no sentence for this task")
        return made


class Punctuation(MadeFromText):
    """Punctuation number (1 to 10 marks, or 11 for more) and punctuation first (thesis, 5.7.2)."""

    label_caps: ClassVar = {"number": 20_000}

    def features(self) -> datasets.Features:
        if self.config.name == "number":
            return labeled([str(count) for count in range(1, MAX_MARKS + 1)])
        return labeled(list(PUNCTUATION))

    def label_of(self, text: str) -> str | None:
        marks = [character for character in text if character in PUNCTUATION]
        if not marks:
            return None
        return str(min(len(marks), MAX_MARKS)) if self.config.name == "number" else marks[0]


class ArticleGender(MadeFromText):
    """Gender of articles (thesis, 5.7.2): half of the sentences have articles of the wrong gender.

    French *le, la, un, une* and Spanish *el, la, los, las* change gender but not number or
    definiteness.
    """

    FEATURES = labeled(("wrong", "right"))

    def label_of(self, text: str) -> str | None:
        return "any" if _articles(self.config.name).search(text) else None

    def examples(self, sample: list[Example]) -> list[Example]:
        return [
            (switch_articles(text, self.config.name), "wrong") if number % 2 else (text, "right")
            for number, (text, _) in enumerate(sample)
        ]


def switch_articles(text: str, language: str) -> str:
    """Change the gender of every article."""
    table = {
        case(article): case(other)
        for article, other in ARTICLES[language].items()
        for case in (str.lower, str.capitalize, str.upper)
    }
    return _articles(language).sub(lambda match: table[match.group()], text)


def _articles(language: str) -> re.Pattern[str]:
    cases = (str.lower, str.capitalize, str.upper)
    words = "|".join(case(word) for word in ARTICLES[language] for case in cases)
    return re.compile(rf"(?<![\w'’-])(?:{words})(?![\w'’-])")


def _column(path: Path, column: int) -> Iterator[str]:
    """Yield a TSV column, or the lines of a text file. Rows without the column are skipped."""
    for number, line in iterate_lines(path):
        row = line.split("\t")
        if number == 1 and names_columns(row):
            continue
        if len(row) > column and row[column].strip():
            yield row[column].strip()


def sample_examples(
    rows: Iterable[Example], most: int, total: int, seed: int, *, per_label: bool = False
) -> list[Example]:
    """Sample examples with distinct texts, at most `most` per label and `total` altogether."""
    choice = random.Random(seed)
    kept: dict[str, list[Example]] = {}
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for text, label in rows:
        if hash(text) in seen:
            continue
        seen.add(hash(text))
        group = label if per_label else ""
        pool = kept.setdefault(group, [])
        counts[group] += 1
        if len(pool) < most:
            pool.append((text, label))
        elif (slot := choice.randrange(counts[group])) < most:
            pool[slot] = (text, label)
    sample = [example for pool in kept.values() for example in pool]
    choice.shuffle(sample)
    return sample[:total]


SIDES = REFERENCE, TRANSLATION = "reference", "translation"


@dataclass
class MachineTextConfig(MadeConfig):
    train_rows: int = 80_000


class MachineText(MadeFromText):
    """Sentences labeled as reference or machine translation: both sides of sampled pairs, in one
    split. The paper has 40,000 pairs for training, 5,000 for validation and 5,000 for testing.
    """

    BUILDER_CONFIG_CLASS = MachineTextConfig
    FEATURES = labeled((TRANSLATION, REFERENCE))

    def _make(self, folder: Folder, wanted: int) -> list[Example]:
        odd = [n for n in ("train_rows", "test_rows") if getattr(self.config, n) % 2]
        if odd:
            raise DataError(f"{odd[0]} must be even, got {getattr(self.config, odd[0])}")
        pairs = sample_examples(_machine_pairs(folder), wanted // 2, wanted // 2, self.config.seed)
        if not pairs:
            raise DataError(f"{self.source.name}: {folder.roots[0]} contains no pairs")
        return [side for a, b in pairs for side in ((a, REFERENCE), (b, TRANSLATION))]


def _machine_pairs(folder: Folder) -> Iterator[Example]:
    for path in folder.files("**/*"):
        if ".tsv" in path.suffixes:
            rows = iterate_rows(path, prefer=SIDES)
        elif path.suffix == ".parquet" and "rejects" not in path.parts:
            rows = iterate_rows(path, columns=SIDES)
        else:
            continue
        yield from ((a, b) for a, b in good_rows(rows, name=str(path)))
