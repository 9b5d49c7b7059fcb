"""Constituency trees: reading, normalizing, linearizing and cutting to templates (thesis, 6.2.2).

A node has a label and either children or a word. A node has neither if its children were cut off.
Trees are written as in the Penn Treebank, under a `ROOT` that does not count as a level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from paraphrastic_hf.errors import DataError, nearest

ROOT = "ROOT"
ROOTS = frozenset({"", ROOT, "TOP", "S1"})  # names of the root in treebanks and parsers
DEEPEST = 200  # maximum number of levels, well below Python's recursion limit
TEMPLATE_DEPTH = 2

PHRASE_NAMES = """
    ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP WHADJP
    WHADVP WHNP WHPP X"""
TAG_NAMES = """
    CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB
    VBD VBG VBN VBP VBZ WDT WP WP$ WRB"""
PHRASES, WORD_TAGS = frozenset(PHRASE_NAMES.split()), frozenset(TAG_NAMES.split())
PUNCTUATION = frozenset(["#", "$", "''", "``", ",", ".", ":", "-LRB-", "-RRB-"])
LABELS = PHRASES | WORD_TAGS | PUNCTUATION | {ROOT}

# Labels of other treebanks and parsers -> closest label of the Penn Treebank
RENAMED = {
    **{"HYPH": ":", "NFP": ":", "DASH": ":", "ADD": "NN", "GW": "NN", "AFX": "JJ", "XX": "FW"},
    **{"NML": "NP", "NPP": "NP", "JJP": "ADJP", "META": "X", "EDITED": "X", "PRP-S": "PRP$"},
    **{"WP-S": "WP$", "-LSB-": "-LRB-", "-LCB-": "-LRB-", "-RSB-": "-RRB-", "-RCB-": "-RRB-"},
    **{"TYPO": "X", "BES": "VBZ", "HVS": "VBZ", "Q": "SQ"},
}
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})
PIECE = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """Node of a constituency tree, with everything below it.

    `label` is the label of a phrase, or the part of speech of a `word`, whose brackets are not
    escaped.
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def __str__(self) -> str:
        """Return the tree in one line with words. Brackets in words become `-LRB-` and so on."""
        text, before = [], ""
        for token in self.tokens(words=True):
            is_apart = token == "(" or before not in ("(", ")")
            text += [" ", token] if is_apart and token != ")" else [token]
            before = token
        return "".join(text).lstrip()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[tuple[str, str | None, int], ...]:
        return tuple((node.label, node.word, len(node.children)) for node in self.nodes())

    def linear(self) -> str:
        """Return the tree without words and spaces: `(S(NP(PRP))(VP(VBD))(.))`."""
        return "".join(self.tokens())

    def tokens(self, *, words: bool = False) -> list[str]:
        """Return brackets and labels, and, if `words` is set, the words with escaped brackets."""
        found: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                found.append(")")
                continue
            found += ["(", node.label]
            if words and node.word is not None:
                found.append(node.word.translate(ESCAPES))
            stack += [None, *reversed(node.children)]
        return found

    def nodes(self) -> Iterator[Tree]:
        """Yield this node and all nodes below it, depth first, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def leaves(self) -> list[tuple[str, str]]:
        """Return the part of speech and the word of every leaf, in order."""
        return [(node.label, node.word) for node in self.nodes() if node.word is not None]

    def words(self) -> list[str]:
        return [node.word for node in self.nodes() if node.word is not None]

    @property
    def height(self) -> int:
        """Number of nodes on the longest path from this node to a leaf."""
        level, height = [self], 0
        while level:
            level, height = [child for node in level for child in node.children], height + 1
        return height

    @property
    def top(self) -> Tree:
        """Single child of the root. For a tree without a root, the tree itself."""
        is_wrapped = self.label in ROOTS and len(self.children) == 1
        return self.children[0] if is_wrapped else self


def read_tree(text: str) -> Tree:
    """Read a bracketed tree, such as `(ROOT (S (NP (PRP She)) (VP (VBD drove))))` or `(S(NP)(VP))`.

    Raise `DataError` unless the text is exactly one tree of at most `DEEPEST` levels. Every node
    must have a label, and one word, or children, or neither.
    """
    pieces = PIECE.findall(text)
    shown = f"The tree {text.strip()[:80]!r}"
    if not pieces:
        raise DataError("The tree is empty. Write for example (S (NP) (VP) (.))")
    if pieces[0] != "(":
        raise DataError(f"{shown} must begin with a bracket. Write for example (S (NP) (VP) (.))")
    return _from_pieces(pieces, shown)


def _from_pieces(pieces: Sequence[str], shown: str) -> Tree:
    labels: list[str] = []  # labels of nodes without their closing bracket
    words: list[str | None] = []
    children: list[list[Tree]] = [[]]
    for place, piece in enumerate(pieces):
        if not labels and children[0]:
            what = "a second tree" if piece == "(" else repr(piece)
            raise DataError(f"{shown} has unbalanced brackets: {what} after the last bracket")
        if piece == "(":
            if words and words[-1] is not None:
                raise DataError(f"{shown} has a node with both the word {words[-1]!r} and a phrase")
            follower = pieces[place + 1 : place + 2]
            if labels and follower in ([], ["("], [")"]):
                raise DataError(f"{shown} has a bracket without a label")
            labels.append("" if follower in ([], ["("], [")"]) else follower[0])
            words.append(None)
            children.append([])
            if len(labels) > DEEPEST:
                raise DataError(f"{shown} has more than {DEEPEST} levels")
        elif piece == ")":
            below = tuple(children.pop())
            label = labels.pop()
            if not label and not below:
                raise DataError(f"{shown} is empty. Write for example (S (NP) (VP) (.))")
            children[-1].append(Tree(label or ROOT, below, words.pop()))
        elif pieces[place - 1] != "(":
            if words[-1] is not None or children[-1]:
                raise DataError(f"{shown} has {piece!r} without a part of speech. Write (NN cat)")
            words[-1] = BRACKETS.get(piece, piece.replace("-LRB-", "(").replace("-RRB-", ")"))
    if labels:
        raise DataError(f"{shown} has unbalanced brackets: {len(labels)} are not closed")
    return children[0][0]


def check_labels(tree: Tree, shown: str = "The tree") -> None:
    """Raise `DataError` for a label not in `LABELS`. Messages show `shown` as the tree's name."""
    for node in tree.nodes():
        if node.label not in LABELS:
            known = sorted(LABELS)
            meant = nearest(node.label, known, cutoff=0.4)
            end = f"Did you mean {meant!r}?" if meant else f"Known: {', '.join(known)}"
            raise DataError(f"{shown} has the unknown label {node.label!r}. {end}")


def cut(tree: Tree, depth: int) -> Tree:
    """Return the top `depth` levels of a tree, without words. A root is kept and not counted."""
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    if tree.label in ROOTS:
        return Tree(tree.label, tuple(cut(child, depth) for child in tree.children))
    kept = tree.children if depth > 1 else ()
    return Tree(tree.label, tuple(cut(child, depth - 1) for child in kept))


def template(tree: Tree) -> Tree:
    """Return the top two levels, for example `(ROOT (S (NP) (VP) (.)))` (thesis, 6.2.2.1)."""
    return cut(tree, TEMPLATE_DEPTH)


def same_template(first: Tree, second: Tree) -> bool:
    """Return whether two trees have equal templates (exact template match, thesis 6.4.2)."""
    return template(first).top == template(second).top


def normalized(tree: Tree) -> Tree:
    """Normalize a tree from any treebank or parser.

    Traces are removed, and so are phrases that contain only traces. Labels such as `NP-SBJ-1`,
    `NP=2` or `ADVP|PRT` are cut to their first part. Labels outside the Penn Treebank are replaced
    by the closest Penn Treebank label. The root becomes `ROOT`, and is added if missing.
    """
    found = _normalized(tree)
    if found is None:
        raise DataError(f"The tree {str(tree)[:80]!r} has only traces")
    return found if found.label == ROOT else Tree(ROOT, (found,))


def _normalized(tree: Tree) -> Tree | None:
    if tree.label == "-NONE-":
        return None
    below = tuple(it for it in map(_normalized, tree.children) if it is not None)
    if tree.children and not below:
        return None
    return Tree(plain_label(tree.label), below, tree.word)


@cache
def plain_label(label: str) -> str:
    """Return a label without functional suffixes, replaced by the closest Penn Treebank label."""
    if label in ROOTS:
        return ROOT
    if label in RENAMED:
        return RENAMED[label]
    if label in LABELS:
        return label
    first = re.split(r"[-=|]", label, maxsplit=1)[0] or label
    return RENAMED.get(first, first)
