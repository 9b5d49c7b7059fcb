from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.readers.syntax import read_trees
from paraphrastic_hf.corpora.readers.tagging import (
    TaggedSentence,
    cut,
    split_in_order,
    tagged_sentences,
)
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import Row, put, rows

TREES = """
( (S
    (NP-SBJ-1 (DT The) (NN ferry))
    (VP (VBD left)
        (S (NP (-NONE- *-1)) (-LRB- -LRB-) (RB late) (-RRB- -RRB-)))
    (. .)) )
( (NP (NN Fog)) )

(ROOT (INTJ (UH Aye)) (. !)) (ROOT (FRAG (NN Rain)))
"""


def treebank(tmp_path: Path, text: str) -> list[Row]:
    return rows("treebank", None, put(tmp_path, {"treebank/combined/wsj_0001.mrg": text}))


def test_trees_are_read_across_lines_and_several_per_line(tmp_path: Path) -> None:

    put(tmp_path, {"treebank/combined/wsj_0002.mrg": "((NN a))\n"})
    found = treebank(tmp_path, TREES + "((S (-NONE- *)))\n")
    texts = ["The ferry left ( late ) .", "Fog", "Aye !", "Rain", "a"]
    assert [row["text"] for row in found] == texts
    assert [row["document"] for row in found] == ["wsj_0001"] * 4 + ["wsj_0002"]
    assert found[1]["tree"] == "((NP (NN Fog)))"
    assert "(-NONE- *-1)" in found[0]["tree"]
    assert found[0]["tokens"] == ["The", "ferry", "left", "(", "late", ")", "."]
    assert found[0]["tags"] == ["DT", "NN", "VBD", "-LRB-", "RB", "-RRB-", "."]


def test_gum_has_a_folder_of_trees(tmp_path: Path) -> None:
    folder = put(tmp_path / "gum", {"const/GUM_fiction_moon.ptb": "(ROOT (NP (NN a)))\n"})
    (row,) = rows("gum", None, tmp_path)
    assert (row["tokens"], row["document"]) == (["a"], "GUM_fiction_moon")
    with pytest.raises(DataError):
        rows("treebank", None, folder)


def test_the_tree_column_is_parsed_to_the_same_tree(tmp_path: Path) -> None:
    put(tmp_path, {"a.mrg": TREES})
    trees = list(read_trees(tmp_path / "a.mrg"))
    put(tmp_path, {"b.mrg": "\n".join(text for text, _ in trees)})
    assert list(read_trees(tmp_path / "b.mrg")) == trees


@pytest.mark.parametrize(
    "bad",
    [
        *("(S (VP like(d) (NP it)))", "(S (NN New York))", "(S (NN Solano(r)))"),
        *("(S ())", "()", "(ROOT)", "(S (NP) (VP (VB go)))"),
        *("((S (NN b))\n\n\n", "((NN b)))", "loose ((NN b))", "((NN a)) loose"),
    ],
)
def test_malformed_trees_are_refused_with_their_line(bad: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"wsj_0001\.mrg:2"):
        treebank(tmp_path, f"((NN a))\n{bad}\n")


# CoNLL-U


def word(number: str, form: str, tag: str = "NOUN", penn: str = "NN") -> str:
    return f"{number}\t{form}\t{form}\t{tag}\t{penn}\t_\t0\troot\t_\t_\n"


FIRST = (
    "# newdoc id = a\n# sent_id = 1\n# text = I don't = no\n"
    + word("1", "I", "PRON", "PRP")
    + word("2-3", "don't", "_", "_")
    + word("2", "do", "AUX", "VBP")
    + word("3", "n't", "PART", "RB")
    + word("3.1", "go", "VERB", "VB")
    + "\n"
)


def ewt(tmp_path: Path, text: str) -> list[Row]:
    folder = put(tmp_path, dict.fromkeys(["en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"], text))
    assert rows("ewt", None, folder, "test") == rows("ewt", None, folder, "validation")
    return rows("ewt", None, folder, "test")


def test_contractions_and_empty_nodes_are_skipped(tmp_path: Path) -> None:
    assert ewt(tmp_path, FIRST) == [
        {
            "text": "I don't = no",
            "tokens": ["I", "do", "n't"],
            "tags": ["PRON", "AUX", "PART"],
            "penn_tags": ["PRP", "VBP", "RB"],
            "relations": ["root", "root", "root"],
        }
    ]


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n"])
def test_the_last_sentence_needs_no_empty_line(ending: str, tmp_path: Path) -> None:
    found = ewt(tmp_path, FIRST + word("1", "Big") + word("2", "fog") + ending)
    assert [row["text"] for row in found] == ["I don't = no", "Big fog"]


def test_a_row_without_ten_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"en_ewt-ud-test\.conllu:10 "):
        ewt(tmp_path, FIRST + "1\tBig\tbig\n")


def test_gum_has_its_official_splits(tmp_path: Path) -> None:
    documents = ["GUM_fiction_moon", "GUM_bio_byron", "GUM_bio_dvorak", "GENTLE_poetry_raven"]
    put(tmp_path / "gum", {f"const/{name}.ptb": "(ROOT (NP (NN a)))\n" for name in documents})
    found = load_dataset("gum", data_dir=tmp_path)
    assert {split: rows["document"][0] for split, rows in found.items()} == dict(
        zip(("train", "validation", "test", "gentle"), documents, strict=True)
    )


def texts(*documents: str) -> list[TaggedSentence]:
    return [TaggedSentence(["a"], ["DT"], document) for document in documents]


def names(parts: list[list[TaggedSentence]]) -> list[str]:
    return ["".join(sentence.document for sentence in part) for part in parts]


def test_parts_end_with_the_document_that_reaches_their_share() -> None:
    corpus = texts(*"uuuuuvvvwx")
    assert names(split_in_order(corpus, [0.5, 0.2])) == ["uuuuu", "vvv", "wx"]
    assert names(split_in_order(corpus, [0.6, 0.1])) == ["uuuuuvvv", "w", "x"]
    parts = split_in_order(texts(*[""] * 10), [0.8, 0.1])
    assert [len(part) for part in parts] == [8, 1, 1]
    with pytest.raises(DataError):  # empty parts
        split_in_order(texts(*"uuuuu"), [0.5, 0.2])


def test_splits_keep_all_sentences_in_order() -> None:
    corpus = [TaggedSentence([str(n)], ["CD"], f"d{n // 3}") for n in range(40)]
    parts = split_in_order(corpus, [0.7, 0.15])
    assert [sentence for part in parts for sentence in part] == corpus
    documents = [{sentence.document for sentence in part} for part in parts]
    assert not documents[0] & documents[1]
    assert not documents[1] & documents[2]


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
    with pytest.raises(DataError):
        tagged_sentences(rows, "made")


def test_a_long_sentence_is_cut_with_its_tags() -> None:
    whole = TaggedSentence(list("abcde"), list("vwxyz"), "d")
    assert cut(whole, 2) == [
        TaggedSentence(["a", "b"], ["v", "w"], "d"),
        TaggedSentence(["c", "d"], ["x", "y"], "d"),
        TaggedSentence(["e"], ["z"], "d"),
    ]
    assert cut(whole, 5) == [whole]
