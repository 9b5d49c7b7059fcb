"""Labeled precision, recall and F1 of parsers (Black et al., 1991), as EVALB usually counts them.

A bracket is the label of a phrase, and the words it is over. The root is none, and parts of speech
are none. Punctuation, by the right tree's tags, is taken out first, and phrases without any other
word go with it. Chains of phrases over the same words count one by one, twice the same label
twice. `PRT` is the same as `ADVP`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from paraphrastic_hf.syntax.parse_tree import ROOTS, Tree, same_template

PUNCTUATION = frozenset([",", ":", "``", "''", "."])  # EVALB's COLLINS.prm
SAME_LABEL = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class BracketCounts:
    """How many brackets are right.

    Attributes:
        right: Number of brackets that both trees have.
        found: Number of brackets that were found.
        gold: Number of brackets of the right trees.
        words: Number of words, punctuation included.
        right_tags: Number of these with the right part of speech.
        sentences: Number of sentences.
        exact: Number of sentences all of whose brackets are right.
        templates: Number of sentences whose two topmost levels are right (thesis, 6.4.2).
    """

    right: int
    found: int
    gold: int
    words: int
    right_tags: int
    sentences: int
    exact: int
    templates: int

    @property
    def precision(self) -> float:
        """The per cent of the brackets found that are right; 0 where there is none."""
        return 100 * self.right / max(1, self.found)

    @property
    def recall(self) -> float:
        """The per cent of the right brackets that were found; 0 where there is none."""
        return 100 * self.right / max(1, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in per cent."""
        return 200 * self.right / max(1, self.found + self.gold)

    @property
    def tag_accuracy(self) -> float:
        """The per cent of words with the right part of speech."""
        return 100 * self.right_tags / max(1, self.words)

    @property
    def exact_match(self) -> float:
        """The per cent of sentences all of whose brackets are right."""
        return 100 * self.exact / max(1, self.sentences)

    @property
    def template_match(self) -> float:
        """The per cent of sentences whose two topmost levels are right."""
        return 100 * self.templates / max(1, self.sentences)


def count_brackets(
    found: Sequence[Tree], gold: Sequence[Tree], *, without: Collection[str] = PUNCTUATION
) -> BracketCounts:
    """Compare trees of the same sentences bracket by bracket.

    Args:
        without: Tags of the words that are taken out; none, to count punctuation too.
    """
    counts: Counter[str] = Counter()
    for tree, right in zip(found, gold, strict=True):
        tags = [tag for tag, _ in right.leaves()]
        found_tags = [tag for tag, _ in tree.leaves()]
        is_kept = [tag not in without for tag in tags]
        ours, theirs = Counter(brackets(tree, is_kept)), Counter(brackets(right, is_kept))
        counts.update(
            right=(ours & theirs).total(),
            found=ours.total(),
            gold=theirs.total(),
            words=len(tags),
            right_tags=sum(a == b for a, b in zip(found_tags, tags, strict=True)),
            sentences=1,
            exact=ours == theirs,
            templates=same_template(tree, right),
        )
    names = BracketCounts.__dataclass_fields__
    return BracketCounts(**{name: counts[name] for name in names})


def brackets(tree: Tree, is_kept: Sequence[bool] | None = None) -> list[Bracket]:
    """Label, first word and the word after the last of every phrase of a tree but its root.

    Args:
        is_kept: For each word, whether it counts; all do if absent. Words are numbered without the
            others, and phrases of the others alone are left out.

    Example:
        >>> from paraphrastic_hf.syntax.parse_tree import read_tree
        >>> brackets(read_tree("(ROOT (S (VP (VB Go)) (. !)))"), [True, False])
        [('S', 0, 1), ('VP', 0, 1)]
    """
    found: list[Bracket] = []
    read = kept = 0

    def walk(node: Tree) -> None:
        nonlocal read, kept
        if node.word is not None:
            kept += is_kept is None or is_kept[read]
            read += 1
            return
        place, start = len(found), kept
        if node.label not in ROOTS:
            found.append((SAME_LABEL.get(node.label, node.label), start, start))
        for child in node.children:
            walk(child)
        if node.label not in ROOTS:
            if kept == start:
                del found[place:]
            else:
                found[place] = (found[place][0], start, kept)

    walk(tree)
    return found
