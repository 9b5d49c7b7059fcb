"""Trees as the tokens that models read and write (thesis, 6.2.2): `(S (NP ) (VP ) )`.

A node is two tokens, its bracket with the label, and the closing bracket. The released code has
three, a bracket and a label apart; two say the same in fewer steps. The vocabulary is closed: every
label that `parse_tree.LABELS` has, so that all models of this package have the same one.
"""

from __future__ import annotations

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.syntax.parse_tree import (
    LABELS,
    ROOT,
    Tree,
    check_labels,
    normalized,
    read_tree,
)
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer

CLOSE = ")"
SEPARATOR = "<sep>"  # between a source and its template, where a model has one input


def parse_tokenizer() -> MarkedTokenizer:
    """The tokenizer of trees, whose ids never change.

    Example:
        >>> tokenizer = parse_tokenizer()
        >>> ids = tokenizer.encode_batch(["(S (NP ) )"])[0].tolist()
        >>> len(ids), tokenizer.decode(ids)
        (5, '(S (NP ) )')
    """
    words = [CLOSE, *(f"({label}" for label in sorted(LABELS)), SEPARATOR]
    return MarkedTokenizer(WordTokenizer(words, lowercase=False, spaced=True), "end")


def parse_text(tree: Tree) -> str:
    """The tokens of a tree with spaces between, without words and without a root on top.

    Example:
        >>> parse_text(read_tree("(ROOT (S (NP (PRP She)) (VP (VBD drove))))"))
        '(S (NP (PRP ) ) (VP (VBD ) ) )'
    """
    tokens: list[str] = []
    for token in tree.top.tokens():
        if tokens and tokens[-1] == "(":
            tokens[-1] += token
        else:
            tokens.append(token)
    return " ".join(tokens)


def checked_tree(text: str) -> Tree:
    """The tree of a bracketed text, in the one form that models know.

    Args:
        text: With words or without, of any treebank or parser.

    Raises:
        DataError: It is no tree, its brackets do not match, a label is unknown, or it is one word
            or nothing.

    Example:
        >>> print(checked_tree("(TOP (S (NP-SBJ (PRP She)) (VP (VBD drove))))"))
        (ROOT (S (NP (PRP She)) (VP (VBD drove))))
    """
    tree = normalized(read_tree(text))
    if tree.label == ROOT and len(tree.children) != 1:
        tree = Tree(ROOT, (Tree("FRAG", tree.children),))  # several tops, as of a headline
    check_labels(tree, LABELS, f"the tree {text.strip()[:80]!r}")
    if not tree.top.children:
        raise DataError(
            f"the tree {text.strip()[:80]!r} has one node; write one such as (S (NP) (VP) (.))"
        )
    return tree


def with_template(source: str, template: str) -> str:
    """What a stock model reads: a source and, after a mark, the template of what is to be written.

    Args:
        source: A sentence, or a parse as tokens with spaces.
        template: A parse or template as such tokens; "" for none.

    Example:
        >>> with_template("she drove home .", "(S (NP ) (VP ) )")
        'she drove home . <sep> (S (NP ) (VP ) )'
    """
    return f"{source} {SEPARATOR} {template}" if template else source
