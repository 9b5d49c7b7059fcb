import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.syntax.parse_tree import ROOT, Tree, read_tree
from paraphrastic_hf.syntax.spans import spans_of, tree_of_spans

leaves = st.builds(Tree, st.sampled_from(["NN", "VB"]), st.just(()), st.sampled_from("ab"))
trees = st.recursive(
    leaves,
    lambda below: st.builds(
        Tree, st.sampled_from(["S", "NP"]), st.lists(below, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=10,
)


@given(st.lists(trees, min_size=1, max_size=2))
def test_a_tree_is_rebuilt_from_its_spans(below):
    tree = Tree(ROOT, tuple(below))
    found = spans_of(tree)
    assert found.words == tree.words()
    assert len({(start, end) for start, end, _ in found.phrases}) == len(found.phrases)
    assert tree_of_spans(found.words, found.tags, found.phrases) == tree


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("(ROOT (S (VP (VB go))))", [(0, 1, "S+VP")]),
        ("(ROOT (NN a))", []),
        ("(S (NP (DT a) (NN b)) (VP (VB c)))", [(0, 3, "S"), (0, 2, "NP"), (2, 3, "VP")]),
        ("(ROOT (NP (NN a)) (NP (NN b)))", [(0, 1, "NP"), (1, 2, "NP")]),
    ],
)
def test_by_hand(text, phrases):
    assert spans_of(read_tree(text)).phrases == phrases
