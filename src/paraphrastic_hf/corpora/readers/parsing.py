"""Parsed sentences for training, development and testing of parsers, in one form of tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.syntax.parse_tree import Tree, normalised, read_tree

QUOTES = {"``": '"', "''": '"'}  # what treebanks write for the quotes of a text


def parsed_sentences(
    rows: Iterable[Mapping[str, Any]], name: str, max_words: int | None = None
) -> list[Tree]:
    """The trees of rows with a column `tree`, normalised.

    Sentences whose words are withheld are left out: GUM has underscores for the words of Reddit
    texts. Quotes are written as in text, `"`.

    Args:
        rows: Of a `datasets.Dataset`, or alike.
        name: What messages call the corpus.
        max_words: Leave out longer sentences.

    Raises:
        DataError: The column is missing, a tree is none, or nothing is left.
    """
    trees = []
    for number, row in enumerate(rows):
        if "tree" not in row:
            raise DataError(f"{name} has no column 'tree'; its columns are {', '.join(row)}")
        try:
            tree = normalised(read_tree(row["tree"]))
        except DataError as error:
            raise DataError(f"row {number} of {name}: {error}") from error
        words = tree.words()
        is_withheld = all(set(word) == {"_"} for word in words)
        if words and not is_withheld and (max_words is None or len(words) <= max_words):
            trees.append(_plain(tree))
    if not trees:
        raise DataError(f"{name} has no parsed sentence")
    return trees


def _plain(tree: Tree) -> Tree:
    word = tree.word if tree.word is None else QUOTES.get(tree.word, tree.word)
    return Tree(tree.label, tuple(map(_plain, tree.children)), word)
