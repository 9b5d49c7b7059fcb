"""Constituency trees as text: read, normalized, linearised, cut to templates (thesis, 6.2.2).

A tree is a node with a label and either children or a word; a node with neither is one whose
children were cut off. Trees are written as in the Penn Treebank, with a `ROOT` on top of which no
level is counted. How far two trees are apart is in `tree_distance.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from paraphrastic_hf.errors import DataError, nearest

ROOT = "ROOT"
ROOTS = frozenset({"", ROOT, "TOP", "S1"})  # what treebanks and parsers call it
DEEPEST = 200  # levels, with room below Python's own limit of nested calls
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

# Labels that other treebanks and parsers have beside those of the Penn Treebank.
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
    """A node of a constituency tree, with everything below it.

    Attributes:
        label: Of a phrase, or the part of speech of a word.
        children: Nodes below it, in order; none if it has a word, or was cut here.
        word: The word of a part of speech, as in the text; brackets are not escaped.

    Example:
        >>> tree = read_tree("(ROOT (S (NP (PRP She)) (VP (VBD drove)) (. .)))")
        >>> tree.words(), tree.linear()
        (['She', 'drove', '.'], '(ROOT(S(NP(PRP))(VP(VBD))(.)))')
        >>> print(template(tree))
        (ROOT (S (NP) (VP) (.)))
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def __str__(self) -> str:
        """One line with words, as the Penn Treebank has it; a bracket in a word is `-LRB-`."""
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
        """What makes a tree, without the nested calls that comparing children would need."""
        return tuple((node.label, node.word, len(node.children)) for node in self.nodes())

    def linear(self) -> str:
        """The tree without its words and without spaces, `(S(NP(PRP))(VP(VBD))(.))`."""
        return "".join(self.tokens())

    def tokens(self, *, words: bool = False) -> list[str]:
        """Brackets and labels one by one, which is what a model reads or writes.

        Args:
            words: Give words too, with brackets escaped.

        Example:
            >>> Tree("S", (Tree("NP"), Tree("VP"))).tokens()
            ['(', 'S', '(', 'NP', ')', '(', 'VP', ')', ')']
        """
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
        """This node and all below it, each before what is below it, from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def leaves(self) -> list[tuple[str, str]]:
        """Part of speech and word of every word, in order."""
        return [(node.label, node.word) for node in self.nodes() if node.word is not None]

    def words(self) -> list[str]:
        """The words, in order; none of a tree that was read or cut without them."""
        return [node.word for node in self.nodes() if node.word is not None]

    @property
    def height(self) -> int:
        """The most nodes from this one down to a leaf, both counted."""
        level, height = [self], 0
        while level:
            level, height = [child for node in level for child in node.children], height + 1
        return height

    @property
    def top(self) -> Tree:
        """What stands below the root; the tree itself if it has no root, or one of several tops."""
        is_wrapped = self.label in ROOTS and len(self.children) == 1
        return self.children[0] if is_wrapped else self


def read_tree(text: str, *, labels: Iterable[str] | None = None) -> Tree:
    """The tree that a bracketed text is, with words or without, spaced or not.

    Args:
        text: Such as `(ROOT (S (NP (PRP She)) (VP (VBD drove))))`, `(S(NP)(VP))`.
        labels: The labels that are known, such as `LABELS`; any if absent.

    Raises:
        DataError: There is no tree or more than one, brackets do not match, a node has no label,
            two words, or a word beside children, a label is unknown, or the tree is deeper than
            `DEEPEST`.

    Example:
        >>> read_tree("(S(NP)(VQ))", labels=LABELS)
        Traceback (most recent call last):
        paraphrastic_hf.errors.DataError: the tree '(S(NP)(VQ))' has the unknown label 'VQ'; did \
you mean 'VP'?
    """
    pieces = PIECE.findall(text)
    shown = f"the tree {text.strip()[:80]!r}"
    if not pieces:
        raise DataError("an empty text is no tree; write one such as (S (NP) (VP) (.))")
    if pieces[0] != "(":
        raise DataError(
            f"{text.strip()[:80]!r} is no tree, since it does not begin with a bracket; write one "
            "such as (S (NP) (VP) (.))"
        )
    tree = _from_pieces(pieces, shown)
    if labels is not None:
        check_labels(tree, labels, shown)
    return tree


def _from_pieces(pieces: Sequence[str], shown: str) -> Tree:
    """Build the tree from brackets, labels and words; `shown` is what messages call it."""
    labels: list[str] = []  # of the nodes that are open
    words: list[str | None] = []
    children: list[list[Tree]] = [[]]
    for place, piece in enumerate(pieces):
        if not labels and children[0]:
            what = "a second tree" if piece == "(" else f"{piece!r} after its last bracket"
            raise DataError(f"{shown} has unbalanced brackets: {what}; give one tree")
        if piece == "(":
            if words and words[-1] is not None:
                raise DataError(f"{shown} has the word {words[-1]!r} beside a phrase in one node")
            follower = pieces[place + 1 : place + 2]
            if labels and follower in ([], ["("], [")"]):
                raise DataError(f"{shown} has a bracket without a label; write (S (NP) (VP) (.))")
            labels.append("" if follower in ([], ["("], [")"]) else follower[0])
            words.append(None)
            children.append([])
            if len(labels) > DEEPEST:
                raise DataError(f"{shown} is deeper than {DEEPEST} levels; give a shallower one")
        elif piece == ")":
            below = tuple(children.pop())
            label = labels.pop()
            if not label and not below:
                raise DataError(f"{shown} is empty; write one such as (S (NP) (VP) (.))")
            children[-1].append(Tree(label or ROOT, below, words.pop()))
        elif pieces[place - 1] != "(":
            if words[-1] is not None or children[-1]:
                raise DataError(
                    f"{shown} has {piece!r} outside a bracket of its own; a word stands alone "
                    "after its part of speech, as in (NN cat)"
                )
            words[-1] = BRACKETS.get(piece, piece.replace("-LRB-", "(").replace("-RRB-", ")"))
    if labels:
        raise DataError(
            f"{shown} has unbalanced brackets: {len(labels)} more opened than closed; close them"
        )
    return children[0][0]


def check_labels(tree: Tree, labels: Iterable[str], shown: str = "the tree") -> None:
    """Refuse a label that is not known.

    Args:
        tree: Any tree.
        labels: The known ones.
        shown: What the message calls the tree.

    Raises:
        DataError: There is one; the message names a similar one that is known.
    """
    known = frozenset(labels)
    for node in tree.nodes():
        if node.label not in known:
            # Names are compared without regard to capitals, so `vp` is found here as VP.
            meant = nearest(node.label, sorted(known), cutoff=0.4)
            end = f"did you mean {meant!r}?" if meant else f"known are {', '.join(sorted(known))}"
            raise DataError(f"{shown} has the unknown label {node.label!r}; {end}")


def cut(tree: Tree, depth: int) -> Tree:
    """The upper levels of a tree, without words.

    Args:
        tree: Any tree.
        depth: How many levels are kept, at least 1; a root on top is kept and not counted.

    Raises:
        ValueError: `depth` is below 1.

    Example:
        >>> cut(read_tree("(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))))"), 1).linear()
        '(ROOT(S))'
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, the level below the root, got {depth}")
    if tree.label in ROOTS:
        return Tree(tree.label, tuple(cut(child, depth) for child in tree.children))
    kept = tree.children if depth > 1 else ()
    return Tree(tree.label, tuple(cut(child, depth - 1) for child in kept))


def template(tree: Tree) -> Tree:
    """The top two levels, such as `(ROOT (S (NP) (VP) (.)))` (thesis, 6.2.2.1)."""
    return cut(tree, TEMPLATE_DEPTH)


def same_template(first: Tree, second: Tree) -> bool:
    """Exact template match: whether the top two levels are the same (thesis, 6.4.2).

    A root on top does not matter.

    Example:
        >>> same_template(read_tree("(ROOT (S (NP (PRP I)) (VP)))"), read_tree("(S(NP)(VP))"))
        True
    """
    return template(first).top == template(second).top


def normalized(tree: Tree) -> Tree:
    """The tree in one form, whatever treebank or parser it is from.

    Traces go, and phrases that had nothing else; of a label like `NP-SBJ-1`, `NP=2` or `ADVP|PRT`
    the first part stays; labels that the Penn Treebank does not have become the nearest that it
    has; and the root is `ROOT`, which is put on top where there is none. The vocabulary of the
    released code, `ptb_tagset.txt`, has these labels.

    Args:
        tree: Any tree, with words or without.

    Raises:
        DataError: Nothing but traces is left.

    Example:
        >>> tree = read_tree("( (S (NP-SBJ-1 (NN Time)) (VP (VBZ flies) (NP (-NONE- *-1)))))")
        >>> print(normalized(tree))
        (ROOT (S (NP (NN Time)) (VP (VBZ flies))))
    """
    found = _normalized(tree)
    if found is None:
        raise DataError(f"the tree {str(tree)[:80]!r} has nothing but traces")
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
    """A label without functions, and as the Penn Treebank has it.

    Example:
        >>> [plain_label(each) for each in ("NP-SBJ-1", "ADVP|PRT", "-LRB-", "HYPH", "TOP")]
        ['NP', 'ADVP', '-LRB-', ':', 'ROOT']
    """
    if label in ROOTS:
        return ROOT
    if label in RENAMED:
        return RENAMED[label]
    if label in LABELS:
        return label
    first = re.split(r"[-=|]", label, maxsplit=1)[0] or label
    return RENAMED.get(first, first)
