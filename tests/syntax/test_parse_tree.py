"""Trees read from text, normalized, linearized and cut (thesis, 6.2.2.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.syntax.parse_tree import (
    DEEPEST,
    LABELS,
    Tree,
    check_labels,
    cut,
    normalized,
    plain_label,
    read_tree,
    same_template,
    template,
)

DROVE = "(ROOT (S (NP (PRP She)) (VP (VBD drove) (NP (NN home))) (. .)))"

words = st.text("ab().", min_size=1, max_size=3)
tags = st.builds(Tree, st.sampled_from(["NN", ".", "-LRB-"]), st.just(()), st.none() | words)
trees = st.recursive(
    tags,
    lambda below: st.builds(
        Tree, st.sampled_from(["S", "NP"]), st.lists(below, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=12,
)


def bare(tree: Tree) -> Tree:
    return Tree(tree.label, tuple(bare(child) for child in tree.children))


@given(trees)
def test_a_written_tree_is_read_back(tree):
    assert read_tree(str(tree)) == tree
    assert read_tree(tree.linear()) == bare(tree)
    assert read_tree(" ".join(tree.tokens())) == bare(tree)


def test_whitespace_is_ignored():
    assert read_tree("\n( ROOT(S ( NP\t(PRP She))(VP (VBD drove)(NP (NN home )))(. .)))") == (
        read_tree(DROVE)
    )


def test_brackets_in_words_are_escaped_only_in_text():
    tree = read_tree("(NP (-LRB- -LSB-) (NN :-RRB-))")
    assert tree.words() == ["[", ":)"]
    assert str(tree) == "(NP (-LRB- [) (NN :-RRB-))"


@pytest.mark.parametrize(
    "text",
    [
        *("  ", "She drove", "S(NP)(VP)", "()", "(S (NP)", "(S (NP)))", "(S) (NP)", "(S) x"),
        *("(S ())", "(S ((NP)))", "(S (NP a b))", "(S (NP) b)", "(S a (NP))"),
        "(S " * (DEEPEST + 1) + ")" * (DEEPEST + 1),
    ],
)
def test_malformed_trees_are_refused(text):
    with pytest.raises(DataError):
        read_tree(text)


def test_the_deepest_tree_is_handled():
    tree = read_tree("(S " * DEEPEST + ")" * DEEPEST)
    assert tree.height == DEEPEST
    assert cut(tree, DEEPEST) == tree == bare(tree)
    assert normalized(tree).height == DEEPEST + 1


def test_an_unknown_label_is_refused():
    with pytest.raises(DataError, match="VQ"):
        check_labels(read_tree("(ROOT (S (NP) (VQ)))"))
    check_labels(read_tree("(ROOT (S (NP) (VP) (.)))"))


def test_a_template_has_the_top_two_levels():
    assert read_tree(DROVE).top.linear() == "(S(NP(PRP))(VP(VBD)(NP(NN)))(.))"
    assert read_tree(DROVE).leaves()[1] == ("VBD", "drove")
    assert template(read_tree(DROVE)).linear() == "(ROOT(S(NP)(VP)(.)))"
    assert template(read_tree(DROVE).top).linear() == "(S(NP)(VP)(.))"
    assert cut(read_tree(DROVE), 1).linear() == "(ROOT(S))"
    assert cut(read_tree(DROVE), 9) == bare(read_tree(DROVE))
    with pytest.raises(ValueError, match="0"):
        cut(read_tree(DROVE), 0)


def test_templates_match_if_the_top_two_levels_are_equal():
    other = read_tree("(S (NP (DT a) (NN b)) (VP (VBZ c)) (. !))")
    assert same_template(read_tree(DROVE), other)
    assert not same_template(read_tree(DROVE), read_tree("(S(NP)(VP))"))
    assert not same_template(read_tree(DROVE), read_tree("(SQ(NP)(VP)(.))"))


def test_a_normalized_tree_has_labels_of_the_released_vocabulary():
    text = """( (S (NP-SBJ-1 (NNP Cray) (HYPH -) (NML (NN x))) (VP (VBD was) (VP (VBN read)
        (NP (-NONE- *-1)) (ADVP|PRT-TMP=2 (RB out)))) (-LRB- -LCB-)))"""
    tree = normalized(read_tree(text))
    assert str(tree) == (
        "(ROOT (S (NP (NNP Cray) (: -) (NP (NN x))) (VP (VBD was) (VP (VBN read) (ADVP (RB out)))) "
        "(-LRB- {)))"
    )
    assert {node.label for node in tree.nodes()} <= LABELS
    assert normalized(tree) == tree
    assert normalized(read_tree("(TOP (NP (NN a)))")) == normalized(read_tree("(NP (NN a))"))


def test_labels_that_start_with_a_hyphen_are_kept():
    assert [plain_label(it) for it in ("-RRB-", "-RSB-", "PRP$", "WHNP-3")] == [
        *("-RRB-", "-RRB-", "PRP$", "WHNP")
    ]


def test_a_tree_of_only_traces_is_refused():
    with pytest.raises(DataError):
        normalized(read_tree("(S (NP (-NONE- *)))"))
