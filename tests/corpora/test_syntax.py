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
from tests.corpora.made_files import put, rows

TREES = """
( (S
    (NP-SBJ-1 (DT The) (NN ferry))
    (VP (VBD left)
        (S (NP (-NONE- *-1)) (-LRB- -LRB-) (RB late) (-RRB- -RRB-)))
    (. .)) )
( (NP (NN Fog)) )

(ROOT (INTJ (UH Aye)) (. !)) (ROOT (FRAG (NN Rain)))
"""


def treebank(tmp_path, text):
    return rows("treebank", None, put(tmp_path, {"treebank/combined/wsj_0001.mrg": text}))


def test_trees_are_read_across_lines_and_several_per_line(tmp_path):
    put(tmp_path, {"treebank/combined/wsj_0002.mrg": "((NN a))\n"})
    found = treebank(tmp_path, TREES + "((S (-NONE- *)))\n")
    texts = ["The ferry left ( late ) .", "Fog", "Aye !", "Rain", "a"]
    assert [row["text"] for row in found] == texts
    assert [row["document"] for row in found] == ["wsj_0001"] * 4 + ["wsj_0002"]
    assert found[1]["tree"] == "((NP (NN Fog)))"
    assert "(-NONE- *-1)" in found[0]["tree"]
    assert found[0]["tokens"] == ["The", "ferry", "left", "(", "late", ")", "."]
    assert found[0]["tags"] == ["DT", "NN", "VBD", "-LRB-", "RB", "-RRB-", "."]


def test_gum_has_a_folder_of_trees(tmp_path):
    folder = put(tmp_path / "gum", {"const/GUM_fiction_moon.ptb": "(ROOT (NP (NN a)))\n"})
    (row,) = rows("gum", None, tmp_path)
    assert (row["tokens"], row["document"]) == (["a"], "GUM_fiction_moon")
    with pytest.raises(DataError):
        rows("treebank", None, folder)


def test_the_tree_column_is_parsed_to_the_same_tree(tmp_path):
    trees = list(read_trees(put(tmp_path, {"a.mrg": TREES}) / "a.mrg"))
    again = put(tmp_path, {"b.mrg": "\n".join(text for text, _ in trees)}) / "b.mrg"
    assert list(read_trees(again)) == trees


@pytest.mark.parametrize(
    "bad",
    [
        *("(S (VP like(d) (NP it)))", "(S (NN New York))", "(S (NN Solano(r)))"),
        *("(S ())", "()", "(ROOT)", "(S (NP) (VP (VB go)))"),
        *("((S (NN b))\n\n\n", "((NN b)))", "loose ((NN b))", "((NN a)) loose"),
    ],
)
def test_malformed_trees_are_refused_with_their_line(bad, tmp_path):
    with pytest.raises(DataError, match=r"wsj_0001\.mrg:2"):
        treebank(tmp_path, f"((NN a))\n{bad}\n")


def word(number, form, tag="NOUN", penn="NN"):
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


def ewt(tmp_path, text):
    folder = put(tmp_path, dict.fromkeys(["en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"], text))
    assert rows("ewt", None, folder, "test") == rows("ewt", None, folder, "validation")
    return rows("ewt", None, folder, "test")


def test_contractions_and_empty_nodes_are_skipped(tmp_path):
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
def test_the_last_sentence_needs_no_empty_line(ending, tmp_path):
    found = ewt(tmp_path, FIRST + word("1", "Big") + word("2", "fog") + ending)
    assert [row["text"] for row in found] == ["I don't = no", "Big fog"]


def test_a_row_without_ten_columns_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"en_ewt-ud-test\.conllu:10 "):
        ewt(tmp_path, FIRST + "1\tBig\tbig\n")


def test_gum_has_its_official_splits(tmp_path):
    documents = ["GUM_fiction_moon", "GUM_bio_byron", "GUM_bio_dvorak", "GENTLE_poetry_raven"]
    put(tmp_path / "gum", {f"const/{name}.ptb": "(ROOT (NP (NN a)))\n" for name in documents})
    found = load_dataset("gum", data_dir=tmp_path)
    assert {split: rows["document"][0] for split, rows in found.items()} == dict(
        zip(("train", "validation", "test", "gentle"), documents, strict=True)
    )


@pytest.mark.parametrize(
    ("documents", "shares", "expected"),
    [
        ("uuuuuvvvwx", [0.5, 0.2], ["uuuuu", "vvv", "wx"]),
        ("uuuuuvvvwx", [0.6, 0.1], ["uuuuuvvv", "w", "x"]),
        ([""] * 10, [0.8, 0.1], [8, 1, 1]),  # without documents
    ],
)
def test_parts_end_with_the_document_that_reaches_their_share(documents, shares, expected):
    corpus = [TaggedSentence([str(n)], ["CD"], each) for n, each in enumerate(documents)]
    parts = split_in_order(corpus, shares)
    assert [sentence for part in parts for sentence in part] == corpus
    names = ["".join(sentence.document for sentence in part) for part in parts]
    assert expected in (names, [len(part) for part in parts])
    with pytest.raises(DataError):  # empty parts
        split_in_order(corpus[:5] if any(documents) else corpus[:1], [0.5, 0.2])


def test_rows_without_words_are_skipped_and_bad_rows_refused():
    empty = {"tokens": [], "tags": [], "document": "w1"}
    rows = [{"tokens": ["a", "cat"], "tags": ["DT", "NN"], "document": "w1"}, empty]
    assert tagged_sentences(rows, "made") == [TaggedSentence(["a", "cat"], ["DT", "NN"], "w1")]
    for row in ({"tokens": ["a"], "tags": []}, {"tokens": ["a"]}, empty):
        with pytest.raises(DataError):
            tagged_sentences([row], "made")


def test_a_long_sentence_is_cut_with_its_tags():
    whole = TaggedSentence([*"abcde"], [*"vwxyz"], "d")
    pieces = [("ab", "vw"), ("cd", "xy"), ("e", "z")]
    assert cut(whole, 2) == [TaggedSentence([*words], [*tags], "d") for words, tags in pieces]
    assert cut(whole, 5) == [whole]
