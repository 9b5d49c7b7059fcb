"""Builders of tagged and parsed text: the Penn Treebank sample, GUM, UD English EWT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import datasets

from paraphrastic_hf.data.builder import Corpus, Row
from paraphrastic_hf.data.folder import Folder
from paraphrastic_hf.data.lines import text_lines
from paraphrastic_hf.data.schema import TEXT, parsed_sentence
from paraphrastic_hf.errors import DataError

BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
Leaf = tuple[str, str]


class TreeCorpus(Corpus):
    """A folder of bracketed trees: tokens and tags are the leaves, traces left out."""

    PATTERN = ""

    def features(self) -> datasets.Features:
        return parsed_sentence(tree=TEXT, document=TEXT)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for path in folder.files(self.PATTERN):
            for tree in read_trees(path):
                leaves = [leaf for leaf in tree_leaves(tree) if leaf[0] != "-NONE-"]
                tokens = [BRACKETS.get(token, token) for _, token in leaves]
                yield {
                    "text": " ".join(tokens),
                    "tokens": tokens,
                    "tags": [tag for tag, _ in leaves],
                    "tree": tree,
                    "document": path.stem,
                }


class Treebank(TreeCorpus):
    """NLTK's sample of the Penn Treebank, 199 documents of the Wall Street Journal."""

    NAME = "treebank"
    PATTERN = "**/combined/*.mrg"


class Gum(TreeCorpus):
    """GUM's constituency trees."""

    NAME = "gum"
    PATTERN = "**/const/*.ptb"


class Ewt(Corpus):
    """UD English EWT: words with universal tags (`tags`), Penn tags and dependency `relations`."""

    NAME = "ewt"

    def features(self) -> datasets.Features:
        words = datasets.Sequence(TEXT)
        return parsed_sentence(penn_tags=words, relations=words)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = folder.find(f"en_ewt-ud-{'dev' if split == 'validation' else split}.conllu")
        words: list[list[str]] = []
        text = ""
        for number, line in text_lines(path):
            if line.startswith("# text ="):
                text = line.partition("=")[2].strip()
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise DataError(
                        f"{path}:{number} has {len(columns)} columns, expected CoNLL-U's 10"
                    )
                if columns[0].isdigit():  # not the range of a contraction, nor an empty node
                    words.append(columns)
            elif not line:
                if words:
                    yield _tagged(text, words)
                words, text = [], ""
        if words:
            yield _tagged(text, words)


def _tagged(text: str, words: list[list[str]]) -> Row:
    tokens = [word[1] for word in words]
    return {
        "text": text or " ".join(tokens),
        "tokens": tokens,
        "tags": [word[3] for word in words],
        "penn_tags": [word[4] for word in words],
        "relations": [word[7] for word in words],
    }


def read_trees(path: Path) -> Iterator[str]:
    """The bracketed trees of a file, each on one line with single spaces.

    Raises:
        DataError: A bracket is closed that was not opened, or the last tree is not closed.
    """
    depth, start = 0, 0
    parts: list[str] = []
    for number, line in text_lines(path):
        for piece in line.replace("(", " ( ").replace(")", " ) ").split():
            depth += (piece == "(") - (piece == ")")
            start = start if parts else number
            parts.append(piece)
            if depth < 0 or (depth == 0 and piece != ")"):
                raise DataError(f"{path}:{number} has {piece!r} outside a tree")
            if depth == 0:
                yield " ".join(parts).replace("( ", "(").replace(" )", ")")
                parts = []
    if parts:
        raise DataError(f"{path}:{start} opens a tree that the file does not close")


def tree_leaves(tree: str) -> list[Leaf]:
    """Tag and token of each leaf of a bracketed tree, in order.

    Example:
        >>> tree_leaves("(ROOT (NP (DT the) (NN cat)))")
        [('DT', 'the'), ('NN', 'cat')]
    """
    pieces = tree.replace("(", " ( ").replace(")", " ) ").split()
    return [
        (pieces[i + 1], pieces[i + 2])
        for i in range(len(pieces) - 3)
        if pieces[i] == "(" and pieces[i + 3] == ")" and pieces[i + 2] != ")"
    ]
