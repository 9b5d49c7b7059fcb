"""Builders of tagged and parsed text: the Penn Treebank sample, GUM, UD English EWT."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

from paraphrastic_hf.corpora.builder import TEXT, Corpus, Row, parsed_sentence
from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.syntax.parse_tree import Tree, normalized, read_tree


class Treebank(Corpus):
    """Treebank in bracketed format. The leaves give the tokens and tags."""

    FEATURES = parsed_sentence(tree=TEXT, document=TEXT)

    def split_of(self, document: str) -> str:
        return "train"

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        for path in folder.files(*self.source.layout["files"]):
            if self.split_of(path.stem) != split:
                continue
            for text, tree in read_trees(path):
                leaves = [leaf for leaf in tree.leaves() if leaf[0] != "-NONE-"]
                if leaves:  # some trees hold only traces
                    tokens = [token for _, token in leaves]
                    yield {
                        "text": " ".join(tokens),
                        "tokens": tokens,
                        "tags": [tag for tag, _ in leaves],
                        "tree": text,
                        "document": path.stem,
                    }


class Gum(Treebank):
    """GUM's trees. In the configuration `open`, training has only texts under CC BY (SA)."""

    def split_of(self, document: str) -> str:
        if document.startswith("GENTLE_"):
            return "gentle"
        name, layout = document.removeprefix("GUM_"), self.source.layout
        for split in ("validation", "test"):
            if name in layout[split]:
                return split
        is_open = name.startswith(tuple(layout["open"]))  # CC BY or CC BY-SA
        return "left out" if self.config.name == "open" and not is_open else "train"


class Ewt(Corpus):
    """UD English EWT: words with universal tags (`tags`), Penn tags and dependency relations."""

    def features(self) -> datasets.Features:
        words = datasets.Sequence(TEXT)
        return parsed_sentence(penn_tags=words, relations=words)

    def rows(self, folder: Folder, split: str) -> Iterator[Row]:
        path = self.find(folder, split)
        words: list[list[str]] = []
        text = ""
        for number, line in text_lines(path):
            if line.startswith("# text ="):
                text = line.partition("=")[2].strip()
            elif line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise DataError(f"{path}:{number} has {len(columns)} columns, not CoNLL-U's 10")
                if columns[0].isdigit():  # else the range of a contraction, or an empty node
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


def read_trees(path: Path) -> Iterator[tuple[str, Tree]]:
    """Yield each bracketed tree of a file twice: as one line of text, and as a `Tree`."""
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
                text = " ".join(parts).replace("( ", "(").replace(" )", ")")
                try:
                    tree = read_tree(text)
                except DataError as error:
                    raise DataError(f"{path}:{start}: {error}") from error
                if any(node.word is None and not node.children for node in tree.nodes()):
                    raise DataError(f"{path}:{start} has a phrase without words: {text[:80]!r}")
                yield text, tree
                parts = []
    if parts:
        raise DataError(f"{path}:{start} opens a tree that is never closed")


QUOTES = {"``": '"', "''": '"'}


def parsed_sentences(
    rows: Iterable[Mapping[str, Any]], name: str, max_words: int | None = None
) -> list[Tree]:
    """Read the trees of rows with plain quotes, without GUM's withheld sentences (`_`)."""
    trees = []
    for number, row in enumerate(rows):
        if "tree" not in row:
            raise DataError(f"{name} has no column 'tree'. Its columns are {', '.join(row)}")
        try:
            tree = normalized(read_tree(row["tree"]))
        except DataError as error:
            raise DataError(f"Row {number} of {name}: {error}") from error
        words = tree.words()
        is_withheld = all(set(word) == {"_"} for word in words)
        if words and not is_withheld and (max_words is None or len(words) <= max_words):
            trees.append(_plain(tree))
    if not trees:
        raise DataError(f"{name} contains no parsed sentences")
    return trees


def _plain(tree: Tree) -> Tree:
    word = tree.word if tree.word is None else QUOTES.get(tree.word, tree.word)
    return Tree(tree.label, tuple(map(_plain, tree.children)), word)
