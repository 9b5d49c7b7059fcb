from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.syntax.parse_tree import Tree, read_tree
from paraphrastic_hf.syntax.tree_distance import tree_edit_distance

labels = st.sampled_from("ABC")
trees = st.recursive(
    st.builds(Tree, labels, st.just(()), st.none() | st.sampled_from("AB")),
    lambda below: st.builds(Tree, labels, st.lists(below, min_size=1, max_size=3).map(tuple)),
    max_leaves=5,
)
Forest = tuple[Tree, ...]


@cache
def by_definition(first: Forest, second: Forest) -> int:
    """Return the distance of two forests, computed from the roots of their last trees."""
    if not first or not second:
        return sum(len(list(tree.nodes())) for tree in (*first, *second))
    a, b = first[-1], second[-1]
    return min(
        by_definition((*first[:-1], *a.children), second) + 1,
        by_definition(first, (*second[:-1], *b.children)) + 1,
        by_definition(a.children, b.children)
        + by_definition(first[:-1], second[:-1])
        + (a.label != b.label),
    )


@given(trees, trees)
def test_the_distance_matches_its_definition(first, second):
    assert tree_edit_distance(first, second) == by_definition((first,), (second,))


def test_words_count_only_if_requested_and_differ_from_labels():
    cat, dog = read_tree("(NP (NN cat))"), read_tree("(NP (NN dog))")
    assert tree_edit_distance(cat, dog) == 0
    assert tree_edit_distance(cat, dog, words=True) == 1
    assert tree_edit_distance(read_tree("(NP (NN NN))"), read_tree("(NP(NN(NN)))"), words=True) == 1
