"""Conversion of trees to the tokens that models read and write (thesis, 6.2.2): `(S (NP ) (VP ) )`.

A node becomes two tokens: the opening bracket with the label, and the closing bracket. In the
released code the opening bracket and the label are separate tokens.
"""

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
SEPARATOR = "<sep>"  # token between source and template, for a model with one input


def parse_tokenizer() -> MarkedTokenizer:
    """Return the tokenizer of trees, with the fixed vocabulary `parse_tree.LABELS`."""
    words = [CLOSE, *(f"({label}" for label in sorted(LABELS)), SEPARATOR]
    return MarkedTokenizer(WordTokenizer(words, lowercase=False, spaced=True), "end")


def parse_text(tree: Tree) -> str:
    """Return the tokens of a tree, separated by spaces. Words and the root are left out.

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
    """Read a bracketed tree from any treebank or parser and normalize it for the models.

    Unknown labels and trees with a single node raise an error.
    """
    tree = normalized(read_tree(text))
    if tree.label == ROOT and len(tree.children) != 1:
        tree = Tree(ROOT, (Tree("FRAG", tree.children),))  # several tops, as in a headline
    check_labels(tree, f"The tree {text.strip()[:80]!r}")
    if not tree.top.children:
        raise DataError(f"{text.strip()[:80]!r} has one node. Write for example (S (NP) (VP) (.))")
    return tree


def with_template(source: str, template: str) -> str:
    """Join a source and the tokens of a template (or "") into one input."""
    return f"{source} {SEPARATOR} {template}" if template else source
