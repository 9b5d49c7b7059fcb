"""The five row types every corpus is made of, as `datasets.Features`.

Texts come first, so that a trainer that takes the first two text columns takes the right ones.
A corpus may add columns of its own after them.
"""

from __future__ import annotations

from collections.abc import Sequence

from datasets import ClassLabel, Features, Value
from datasets import Sequence as ListOf

TEXT = Value("string")
NUMBER = Value("float64")  # streaming and reading agree on it in every version of datasets
WHOLE = Value("int64")


def pair(**extra: object) -> Features:
    """Two texts that mean the same: `sentence1`, `sentence2`."""
    return Features({"sentence1": TEXT, "sentence2": TEXT, **extra})


def scored_pair(**extra: object) -> Features:
    """Two texts and a number: `sentence1`, `sentence2`, `score`."""
    return Features({"sentence1": TEXT, "sentence2": TEXT, "score": NUMBER, **extra})


def bitext(first: str, second: str, **extra: object) -> Features:
    """A sentence and its translation, a column a language: `en`, `fr`."""
    return Features({first: TEXT, second: TEXT, **extra})


def parsed_sentence(**extra: object) -> Features:
    """A tokenized sentence: `text`, `tokens`, `tags` and, of treebanks, a bracketed `tree`."""
    return Features({"text": TEXT, "tokens": ListOf(TEXT), "tags": ListOf(TEXT), **extra})


def labelled(
    labels: Sequence[str] | None, texts: Sequence[str] = ("text",), **extra: object
) -> Features:
    """One text or two, and a class: `text`, `label`.

    Args:
        labels: Names of the classes; None where the class is free text.
        texts: Names of the text columns.
        **extra: Further columns.
    """
    label = TEXT if labels is None else ClassLabel(names=list(labels))
    return Features({**dict.fromkeys(texts, TEXT), "label": label, **extra})
