"""Tagged corpora are split between documents, in order."""

from __future__ import annotations

import pytest

from paraphrastic_hf.corpora.readers.tagging import (
    TaggedSentence,
    cut,
    split_in_order,
    tagged_sentences,
)
from paraphrastic_hf.errors import DataError


def texts(*documents: str) -> list[TaggedSentence]:
    return [TaggedSentence(["a"], ["DT"], document) for document in documents]


def names(parts: list[list[TaggedSentence]]) -> list[str]:
    return ["".join(sentence.document for sentence in part) for part in parts]


def test_parts_end_with_the_document_that_reaches_their_share() -> None:
    corpus = texts(*"uuuuuvvvwx")
    assert names(split_in_order(corpus, [0.5, 0.2])) == ["uuuuu", "vvv", "wx"]
    assert names(split_in_order(corpus, [0.6, 0.1])) == ["uuuuuvvv", "w", "x"]


def test_sentences_without_documents_are_split_anywhere() -> None:
    parts = split_in_order(texts(*[""] * 10), [0.8, 0.1])
    assert [len(part) for part in parts] == [8, 1, 1]


def test_splits_keep_all_sentences_in_order() -> None:
    corpus = [TaggedSentence([str(n)], ["CD"], f"d{n // 3}") for n in range(40)]
    parts = split_in_order(corpus, [0.7, 0.15])
    assert [sentence for part in parts for sentence in part] == corpus
    documents = [{sentence.document for sentence in part} for part in parts]
    assert not documents[0] & documents[1]
    assert not documents[1] & documents[2]


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(DataError, match="2 of 3"):
        split_in_order(texts(*"uuuuu"), [0.5, 0.2])


def test_rows_without_words_are_skipped() -> None:
    rows = [
        {"tokens": ["a", "cat"], "tags": ["DT", "NN"], "document": "w1"},
        {"tokens": [], "tags": [], "document": "w1"},
    ]
    assert tagged_sentences(rows, "made") == [TaggedSentence(["a", "cat"], ["DT", "NN"], "w1")]


@pytest.mark.parametrize(
    "rows", [[{"tokens": ["a"], "tags": []}], [{"tokens": ["a"]}], [{"tokens": [], "tags": []}]]
)
def test_bad_rows_are_refused(rows: list[dict[str, list[str]]]) -> None:
    with pytest.raises(DataError, match="made"):
        tagged_sentences(rows, "made")


def test_a_long_sentence_is_cut_with_its_tags() -> None:
    whole = TaggedSentence(list("abcde"), list("vwxyz"), "d")
    assert cut(whole, 2) == [
        TaggedSentence(["a", "b"], ["v", "w"], "d"),
        TaggedSentence(["c", "d"], ["x", "y"], "d"),
        TaggedSentence(["e"], ["z"], "d"),
    ]
    assert cut(whole, 5) == [whole]
