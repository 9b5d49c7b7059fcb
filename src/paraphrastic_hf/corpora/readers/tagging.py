"""Tagged sentences and their parts: for training, development and testing (thesis, 3.7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from paraphrastic_hf.errors import DataError, counted


@dataclass(frozen=True)
class TaggedSentence:
    """Words and a tag each.

    Attributes:
        words: As the corpus cuts them.
        tags: As many.
        document: Name of the document it is from; empty if the corpus tells none.
    """

    words: list[str]
    tags: list[str]
    document: str = ""


def tagged_sentences(
    rows: Iterable[Mapping[str, Any]], name: str, column: str = "tags"
) -> list[TaggedSentence]:
    """Rows of `tokens`, tags and perhaps `document`; rows without words are left out.

    Args:
        rows: Of a `datasets.Dataset`, or alike.
    """
    sentences = []
    for number, row in enumerate(rows):
        missing = {"tokens", column} - row.keys()
        if missing:
            raise DataError(
                f"{name} has no column {missing.pop()!r}; its columns are {', '.join(row)}"
            )
        words, tags = list(row["tokens"]), list(row[column])
        if len(words) != len(tags):
            tagged = f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
            raise DataError(f"row {number} of {name} has {tagged}")
        if words:
            sentences.append(TaggedSentence(words, tags, row.get("document") or ""))
    if not sentences:
        raise DataError(f"{name} has no tagged sentence")
    return sentences


def split_in_order(
    sentences: Sequence[TaggedSentence], shares: Sequence[float]
) -> list[list[TaggedSentence]]:
    """The corpus in order, cut where documents end, as a treebank is by its sections.

    A part ends with the document in which its share of the sentences is reached.

    Args:
        sentences: In the corpus's order; those without a document are one each.
        shares: Of the sentences, from 0 to 1; the last part has what is left.

    Returns:
        A part more than there are shares.

    Example:
        >>> texts = [TaggedSentence(["a"], ["DT"], name) for name in "uuvw"]
        >>> [[t.document for t in part] for part in split_in_order(texts, [0.25, 0.25])]
        [['u', 'u'], ['v'], ['w']]
    """
    parts: list[list[TaggedSentence]] = [[] for _ in range(len(shares) + 1)]
    ends = [sum(shares[: k + 1]) * len(sentences) for k in range(len(shares))]
    part = seen = 0
    for document in _documents(sentences):
        while part < len(ends) and parts[part] and seen >= round(ends[part], 6):
            part += 1
        parts[part] += document
        seen += len(document)
    for number, part_sentences in enumerate(parts):
        if not part_sentences:
            raise DataError(
                f"part {number + 1} of {len(parts)} has no sentence: the corpus has "
                f"{len(sentences)}, and the shares of the first parts are "
                f"{', '.join(map(str, shares))}"
            )
    return parts


def _documents(sentences: Sequence[TaggedSentence]) -> Iterator[list[TaggedSentence]]:
    keys = [sentence.document or number for number, sentence in enumerate(sentences)]
    numbers = range(len(sentences))
    for _, group in groupby(numbers, key=lambda number: keys[number]):
        yield [sentences[number] for number in group]


def cut(sentence: TaggedSentence, max_words: int) -> list[TaggedSentence]:
    """A sentence in pieces of at most `max_words` words."""
    return [
        TaggedSentence(
            sentence.words[start : start + max_words],
            sentence.tags[start : start + max_words],
            sentence.document,
        )
        for start in range(0, len(sentence.words), max_words)
    ]
