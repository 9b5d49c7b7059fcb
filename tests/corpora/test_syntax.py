"""Trees and CoNLL-U become tokens with tags; what is malformed is named by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.readers.syntax import read_trees
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


def test_a_tree_may_take_many_lines_and_a_line_many_trees(tmp_path: Path) -> None:
    found = treebank(tmp_path, TREES)
    assert [row["text"] for row in found] == ["The ferry left ( late ) .", "Fog", "Aye !", "Rain"]
    assert {row["document"] for row in found} == {"wsj_0001"}
    assert found[1]["tree"] == "((NP (NN Fog)))"


def test_traces_are_no_tokens_and_brackets_are(tmp_path: Path) -> None:
    row = treebank(tmp_path, TREES)[0]
    assert row["tokens"] == ["The", "ferry", "left", "(", "late", ")", "."]
    assert row["tags"] == ["DT", "NN", "VBD", "-LRB-", "RB", "-RRB-", "."]
    assert "(-NONE- *-1)" in row["tree"]


def test_documents_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    files = {f"combined/wsj_000{n}.mrg": f"((NN word{n}))\n" for n in (2, 1, 3)}
    found = rows("treebank", None, put(tmp_path, files))
    assert [row["document"] for row in found] == ["wsj_0001", "wsj_0002", "wsj_0003"]


def test_gum_has_a_folder_of_trees(tmp_path: Path) -> None:
    folder = put(tmp_path / "gum", {"const/GUM_fiction_moon.ptb": "(ROOT (NP (NN a)))\n"})
    (row,) = rows("gum", None, tmp_path)
    assert (row["tokens"], row["document"]) == (["a"], "GUM_fiction_moon")
    with pytest.raises(DataError, match=r"treebank: no file \*\*/combined/\*\.mrg is in"):
        rows("treebank", None, folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((NN a))\n\n((S (NN b))\n\n\n", "wsj_0001.mrg:3 opens a tree that the file does not"),
        ("((NN a))\n((NN b)))\n", r"wsj_0001.mrg:2 has '\)' outside a tree"),
        ("((NN a))\nloose ((NN b))\n", "wsj_0001.mrg:2 has 'loose' outside a tree"),
        ("((NN a)) loose\n", "wsj_0001.mrg:1 has 'loose' outside a tree"),
    ],
)
def test_unbalanced_brackets_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        treebank(tmp_path, text)


def test_a_tree_reads_the_same_from_its_own_line(tmp_path: Path) -> None:
    put(tmp_path, {"a.mrg": TREES})
    trees = list(read_trees(tmp_path / "a.mrg"))
    put(tmp_path, {"b.mrg": "\n".join(text for text, _ in trees)})
    assert list(read_trees(tmp_path / "b.mrg")) == trees


@pytest.mark.parametrize(
    "bad",
    [
        *("(S (VP like(d) (NP it)))", "(S (NN New York))", "(S (NN Solano(r)))"),
        *("(S ())", "()", "(ROOT)", "(S (NP) (VP (VB go)))"),
    ],
)
def test_a_tree_that_would_lose_a_word_is_refused_by_its_line(bad: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"wsj_0001\.mrg:2"):
        treebank(tmp_path, f"((NN a))\n{bad}\n")


def test_a_tree_of_traces_alone_is_no_sentence(tmp_path: Path) -> None:
    found = treebank(tmp_path, "((NN a))\n((S (-NONE- *)))\n((NN b))\n")
    assert [row["text"] for row in found] == ["a", "b"]


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


def test_contractions_and_empty_nodes_are_no_words(tmp_path: Path) -> None:
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
def test_the_last_sentence_counts_however_the_file_ends(ending: str, tmp_path: Path) -> None:
    found = ewt(tmp_path, FIRST + word("1", "Big") + word("2", "fog") + ending)
    assert [row["text"] for row in found] == ["I don't = no", "Big fog"]


def test_a_row_without_ten_columns_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"en_ewt-ud-test\.conllu:10 has 3 columns, expected CoNLL"):
        ewt(tmp_path, FIRST + "1\tBig\tbig\n")


def test_gum_has_its_official_splits(tmp_path: Path) -> None:
    documents = ["GUM_fiction_moon", "GUM_bio_byron", "GUM_bio_dvorak", "GENTLE_poetry_raven"]
    put(tmp_path / "gum", {f"const/{name}.ptb": "(ROOT (NP (NN a)))\n" for name in documents})
    found = load_dataset("gum", data_dir=tmp_path)
    assert {split: rows["document"][0] for split, rows in found.items()} == dict(
        zip(("train", "validation", "test", "gentle"), documents, strict=True)
    )
