"""Probing: accuracy of classifiers on embeddings (thesis, 5.7.2, Tables 52 and 58).

A generative model has several encoders, such as its semantic encoder and its language encoders. Its
attribute `encoders` maps their names to objects with `encode`. The scores of each encoder form a
group of the results.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.measures.protocols import (
    accuracy,
    embed,
    fitted_by_validation,
    stratified_folds,
)
from paraphrastic_hf.evaluation.suite import CLASSIFICATION, Row, Suite, Task

PARTS = 5  # without a training split: 4 parts of the validation split train, 1 chooses C
ONLY = "embedding"  # the group of a model with a single encoder
TEXTS = "probing_text"
NAMES = {
    "subj_number": "S. Num.",
    "obj_number": "O. Num.",
    "tree_depth": "Depth",
    "top_constituents": "Top Con.",
    "word_content": "Word",
    "sentence_length": "Len.",
    "past_present": "Tense",
    "bigram_shift": "Bigram shift",
    "odd_man_out": "Odd man out",
    "coordination_inversion": "Coord. inv.",
}
MADE = {
    "P. Num.": ("punctuation", "number", "en"),
    "P. First": ("punctuation", "first", "en"),
    "Gend. fr": ("article_gender", "fr", "fr"),
    "Gend. es": ("article_gender", "es", "es"),
}

Splits = dict[str, tuple[list[str], list[Any]]]


def read_probe(task: str, data_dir: Path) -> Splits:
    """Read the texts and labels of each split of a task, a key of `NAMES`.

    X-Probe lacks a training split, so four fifths of its validation split become the training
    split.
    """
    splits = _splits("probing", task, data_dir)
    if "train" in splits:
        return splits
    texts, labels = splits["validation"]
    held_out = stratified_folds(_numbers(labels, labels), PARTS) == 0
    cut = {"train": np.flatnonzero(~held_out), "validation": np.flatnonzero(held_out)}
    parts = {
        split: ([texts[i] for i in chosen], [labels[i] for i in chosen])
        for split, chosen in cut.items()
    }
    return parts | {"test": splits["test"]}


def read_made(corpus: str, config: str, language: str, data_dir: Path) -> Splits:
    """Make a probing task from text. Return texts and labels by split."""
    bitext = data_dir.parent / "train" / f"en-{'fr' if language == 'en' else language}"
    text, column = data_dir / TEXTS / f"{language}.txt", int(language != "en")
    for path, options in ((text, {}), (bitext, {"column": column})):
        if path.exists():
            return _splits(corpus, config, path, **options)
    raise MissingFileError(
        f"{corpus} {config} requires text. Put {TEXTS}/{language}.txt (one sentence per line) "
        f"into {data_dir}, or bitext into {bitext}"
    )


def probe(encoder: Any, splits: Splits) -> float:
    """Return the accuracy x 100 on the test split, with C chosen on the validation split."""
    kinds = sorted(set(splits["train"][1]))
    sides = embed(encoder, *(splits[name][0] for name in ("train", "validation", "test")))
    train, validation, test = (
        (side, _numbers(splits[name][1], kinds))
        for side, name in zip(sides, ("train", "validation", "test"), strict=True)
    )
    return accuracy(fitted_by_validation(train, validation, len(kinds)), *test)


def encoders_of(encoder: Any) -> dict[str, Any]:
    """Return the encoders of a model by name, the main one first."""
    return dict(getattr(encoder, "encoders", None) or {ONLY: encoder})


def _splits(corpus: str, config: str, data_dir: Path, **options: Any) -> Splits:
    found = load_dataset(corpus, config, data_dir=data_dir, streaming=True, **options)
    rows = {split: list(found[split]) for split in found}
    return {
        split: ([row["text"] for row in each], [row["label"] for row in each])
        for split, each in rows.items()
    }


def _numbers(labels: Sequence[Any], kinds: Sequence[Any]) -> np.ndarray:
    """Map labels to indices. Labels unseen in training get -1, which is never correct."""
    place = {label: i for i, label in enumerate(sorted(set(kinds)))}
    return np.array([place.get(label, -1) for label in labels])


def _task(name: str, read: Any) -> Task:
    def task(encoder: Any, data_dir: Path) -> list[Row]:
        splits = read(data_dir=data_dir)
        if len(set(splits["train"][1])) < 2:
            raise DataError(f"{name}: all training examples have the same label")
        size = len(splits["test"][1])
        return [
            Row(group, name, size, {"accuracy": probe(each, splits)})
            for group, each in encoders_of(encoder).items()
        ]

    return task


TASKS: dict[str, Task] = {
    **{name: _task(name, partial(read_probe, task)) for task, name in NAMES.items()},
    **{name: _task(name, partial(read_made, *source)) for name, source in MADE.items()},
}


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    main = rows[0].group if rows else None
    scores = {row.name: row.scores["accuracy"] for row in rows if row.group == main}
    return {name: scores.get(name, float("nan")) for name in TASKS}


TABLE_52 = ("S. Num.", "O. Num.", "Depth", "Top Con.", "Word", "Len.", "P. Num.", "P. First")


def _paper(*scores: float, **others: float) -> dict[str, float]:
    return dict(zip(TABLE_52, scores, strict=True)) | others


PROBING = Suite(
    "Properties of sentences, predicted from their embeddings (5.7.2)",
    "Accuracy x 100",
    TASKS,
    _headline,
    {
        "thesis BGT en-fr, semantic encoder (Table 52)": _paper(
            84.6, 80.9, 29.7, 70.5, 77.4, 73.0, 60.7, 87.9, **{"Gend. fr": 52.6}
        ),
        "thesis BGT en-fr, English encoder (Table 52)": _paper(
            75.2, 72.0, 28.0, 63.6, 65.4, 80.2, 65.3, 92.2
        ),
        "thesis BGT en-es, semantic encoder (Table 52)": _paper(
            85.7, 83.6, 32.5, 71.0, 77.3, 76.7, 63.1, 89.9, **{"Gend. es": 52.6}
        ),
        "thesis MGT, semantic encoder (Table 58)": _paper(
            87.0, 84.3, 32.4, 73.1, 73.5, 72.3, 61.3, 92.4
        ),
    },
    notes=(
        "Logistic regression, C (1/4 to 8) selected on the validation split.",
        "The thesis trains on SentEval's 100,000 sentences of books. X-Probe, used without "
        "SentEval's files, has 10,000 test sentences of Wikipedia and 10,000 others: 8,000 for "
        "training, 2,000 for C (5,000 in all for Len.). Word has 1,000 classes with 8 examples "
        "each. Figures of the two do not compare.",
        f"Punctuation and gender use {TEXTS}/LANGUAGE.txt in the data folder, or bitext in the "
        "folder train beside it (English from en-fr): up to 100,000 sentences for training, 10,000 "
        "for C and 10,000 for testing.",
        "For a model with several encoders, the headline shows the first; the others are groups.",
    ),
    hub_task=CLASSIFICATION,
)
