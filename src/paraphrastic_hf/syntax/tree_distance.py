"""Tree edit distance of Zhang and Shasha (1989), a standard metric of controlled paraphrasing."""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.syntax.parse_tree import Tree


def tree_edit_distance(first: Tree, second: Tree, *, words: bool = False) -> int:
    """Return the minimum number of node insertions, deletions and renamings between two trees.

    The children of a deleted node take its place, in order. `words` count as nodes below their
    parts of speech. The published evaluations of syntactic control compare only labels.
    """
    one, other = _Numbered.of(first, words), _Numbered.of(second, words)
    distance = [[0] * len(other.labels) for _ in one.labels]
    for i in one.keyroots:
        for j in other.keyroots:
            _between(one, other, i, j, distance)
    return distance[-1][-1]


@dataclass(frozen=True)
class _Numbered:
    """The nodes of a tree in postorder: labels, and whether a node is a word.

    `leftmost` is the index of the leftmost leaf below each node. `keyroots` are the indices of the
    root and of the nodes with a left sibling, ascending.
    """

    labels: list[tuple[str, bool]]
    leftmost: list[int]
    keyroots: list[int]

    @classmethod
    def of(cls, tree: Tree, words: bool) -> _Numbered:
        labels: list[tuple[str, bool]] = []
        leftmost: list[int] = []

        def visit(node: Tree) -> None:
            first_leaf = len(labels)
            if words and node.word is not None:
                labels.append((node.word, True))
                leftmost.append(first_leaf)
            for child in node.children:
                visit(child)
            labels.append((node.label, False))
            leftmost.append(first_leaf)

        visit(tree)
        last_with = {leaf: number for number, leaf in enumerate(leftmost)}
        return cls(labels, leftmost, sorted(last_with.values()))


def _between(one: _Numbered, other: _Numbered, i: int, j: int, distance: list[list[int]]) -> None:
    """Fill in distances between subtrees with the leftmost leaves of nodes i and j."""
    start, begin = one.leftmost[i], other.leftmost[j]
    width = j - begin + 2
    before = list(range(width))
    rows = [before]  # row a, column b: distance of the forests of the first a and first b nodes
    places = range(1, width)
    columns = [
        (other.leftmost[begin + b - 1] - begin, other.labels[begin + b - 1])
        for b in range(1, width)
    ]
    for a in range(1, i - start + 2):
        node = start + a - 1
        label, offset = one.labels[node], one.leftmost[node] - start
        known, row, last = distance[node], [a], a
        is_whole, earlier = offset == 0, rows[offset]
        for b, (back, name) in zip(places, columns, strict=True):
            best = before[b] + 1
            if last < best:
                best = last + 1
            if is_whole and back == 0:  # both forests are trees
                changed = before[b - 1] + (label != name)
                last = changed if changed < best else best
                known[begin + b - 1] = last
            else:
                joined = earlier[back] + known[begin + b - 1]
                last = joined if joined < best else best
            row.append(last)
        rows.append(row)
        before = row
