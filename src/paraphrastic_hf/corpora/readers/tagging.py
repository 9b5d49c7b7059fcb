"""Tagged sentences, and their split into training, development and test parts (thesis, 3.7.3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from paraphrastic_hf.errors import DataError, counted


@dataclass(frozen=True)
class TaggedSentence:
    """Words with their tags, and the name of their document (empty if unknown)."""

    words: list[str]
    tags: list[str]
    document: str = ""


def tagged_sentences(
    rows: Iterable[Mapping[str, Any]], name: str, column: str = "tags"
) -> list[TaggedSentence]:
    """Read rows with `tokens`, tags and optionally `document`. Rows without words are skipped."""
    sentences = []
    for number, row in enumerate(rows):
        missing = {"tokens", column} - row.keys()
        if missing:
            raise DataError(f"{name} has no column {missing.pop()!r}. It has {', '.join(row)}")
        words, tags = list(row["tokens"]), list(row[column])
        if len(words) != len(tags):
            tagged = f"{counted(len(words), 'word')} and {counted(len(tags), 'tag')}"
            raise DataError(f"Row {number} of {name} has {tagged}. Both numbers must be equal")
        if words:
            sentences.append(TaggedSentence(words, tags, row.get("document") or ""))
    if not sentences:
        raise DataError(f"{name} contains no tagged sentences")
    return sentences


def split_in_order(
    sentences: Sequence[TaggedSentence], shares: Sequence[float]
) -> list[list[TaggedSentence]]:
    """Split a corpus into consecutive parts, each ending with the document in which its share of
    the sentences is reached. One more part gets the remainder.
    """
    parts: list[list[TaggedSentence]] = [[] for _ in range(len(shares) + 1)]
    ends = [share * len(sentences) for share in accumulate(shares)]
    keys = [sentence.document or number for number, sentence in enumerate(sentences)]
    part = seen = 0
    for _, document in groupby(zip(keys, sentences, strict=True), key=itemgetter(0)):
        while part < len(ends) and parts[part] and seen >= round(ends[part], 6):
            part += 1
        found = [sentence for _, sentence in document]
        parts[part] += found
        seen += len(found)
    for number, part_sentences in enumerate(parts):
        if not part_sentences:
            raise DataError(
                f"Part {number + 1} of {len(parts)} is empty: "
                f"{counted(len(sentences), 'sentence')} are too few for the shares "
                f"{', '.join(map(str, shares))}"
            )
    return parts


def cut(sentence: TaggedSentence, max_words: int) -> list[TaggedSentence]:
    """Cut a sentence into pieces of at most `max_words` words."""
    pieces = (slice(at, at + max_words) for at in range(0, len(sentence.words), max_words))
    return [
        TaggedSentence(sentence.words[each], sentence.tags[each], sentence.document)
        for each in pieces
    ]
