"""Conversion between constituency trees and labeled spans, the training data of a span parser.

A unary chain becomes one span. Its label joins the labels of the phrases with `+`, top first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paraphrastic_hf.syntax.parse_tree import ROOT, Tree

CHAIN = "+"


@dataclass(frozen=True)
class SpanTree:
    """A constituency tree as words, tags and labeled spans.

    `phrases` are the start, end (exclusive) and label of every span, outer spans first.
    """

    words: list[str]
    tags: list[str]
    phrases: list[tuple[int, int, str]]


def spans_of(tree: Tree) -> SpanTree:
    """Convert a tree with words to spans, ignoring a root."""
    words: list[str] = []
    tags: list[str] = []
    phrases: list[tuple[int, int, str]] = []

    def add(node: Tree) -> None:
        chain = []
        while len(node.children) == 1 and node.word is None:
            chain.append(node.label)
            node = node.children[0]
        if node.word is None:
            chain.append(node.label)
        place, start = len(phrases), len(words)
        if chain:
            phrases.append((start, start, CHAIN.join(chain)))
        if node.word is not None:
            words.append(node.word)
            tags.append(node.label)
        for child in node.children:
            add(child)
        if chain:
            phrases[place] = (start, len(words), phrases[place][2])

    for child in tree.children if tree.label == ROOT else (tree,):
        add(child)
    return SpanTree(words, tags, phrases)


def tree_of_spans(
    words: Sequence[str], tags: Sequence[str], phrases: Iterable[tuple[int, int, str]]
) -> Tree:
    """Build the tree of a sentence from its spans, under a root.

    `phrases` are spans as in `SpanTree`, outer spans first, then left to right.
    """
    parts = {  # end and tree of the largest part so far that begins at each word
        start: (start + 1, Tree(tag, word=word))
        for start, (word, tag) in enumerate(zip(words, tags, strict=True))
    }
    for start, end, label in reversed([(0, len(words), ROOT), *phrases]):
        children: tuple[Tree, ...] = ()
        place = start
        while place < end:
            place, child = parts[place]
            children = (*children, child)
        for each in reversed(label.split(CHAIN)):
            children = (Tree(each, children),)
        parts[start] = end, children[0]
    return parts[0][1]
