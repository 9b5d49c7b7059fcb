"""Labeled precision, recall and F1 of parsers (Black et al., 1991), with EVALB's usual settings.

A bracket is a phrase label with its span of words. The root and parts of speech are not brackets.
Punctuation (by the gold tags) and phrases of only punctuation are removed first. Each phrase of a
unary chain counts, even if labels repeat. `PRT` equals `ADVP`.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from paraphrastic_hf.syntax.parse_tree import ROOTS, Tree, same_template

PUNCTUATION = frozenset([",", ":", "``", "''", "."])  # EVALB's COLLINS.prm
SAME_LABEL = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]


@dataclass(frozen=True)
class BracketCounts:
    """Counts of correct brackets. The properties are percentages, or 0 if nothing was counted."""

    right: int  # brackets in both trees
    found: int
    gold: int
    words: int  # including punctuation
    right_tags: int  # words with the correct part of speech
    sentences: int
    exact: int  # sentences with exactly the gold brackets
    templates: int  # sentences whose top two levels are correct (thesis, 6.4.2)

    @property
    def precision(self) -> float:
        return 100 * self.right / max(1, self.found)

    @property
    def recall(self) -> float:
        return 100 * self.right / max(1, self.gold)

    @property
    def f1(self) -> float:
        return 200 * self.right / max(1, self.found + self.gold)

    @property
    def tag_accuracy(self) -> float:
        return 100 * self.right_tags / max(1, self.words)

    @property
    def exact_match(self) -> float:
        return 100 * self.exact / max(1, self.sentences)

    @property
    def template_match(self) -> float:
        return 100 * self.templates / max(1, self.sentences)


def count_brackets(
    found: Sequence[Tree], gold: Sequence[Tree], *, without: Collection[str] = PUNCTUATION
) -> BracketCounts:
    """Count the brackets that predicted and gold trees of the same sentences share.

    Words with a tag in `without` are removed first.
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
    """Return the label, first word and end of every phrase of a tree except its root.

    `is_kept` tells which words count (default: all). Phrases without any are left out.
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
